from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.witness.splitter import HEAD_BYTES, SMALL_BYTES, FrameSplitter, NotAFrame, Piece
from testkit.codes import raises_code

PLACES = st.lists(st.integers(0, 2**16), max_size=30)
#: Sizes around the limit above which data is not copied.
LARGE = st.builds(
    lambda size, first: bytes([first]) + bytes(range(256)) * (size // 256) + bytes(size % 256),
    st.integers(SMALL_BYTES - 3, SMALL_BYTES + 3),
    st.integers(0, 255),
)


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4) + payload


@given(payloads=st.lists(st.binary(min_size=4, max_size=200) | LARGE), places=PLACES)
def test_any_fragmentation_gives_the_same_frames(
    payloads: list[bytes], places: list[int], chunked: Callable[[bytes, list[int]], list[bytes]]
) -> None:
    splitter = FrameSplitter()
    stream = b"".join(map(framed, payloads))
    pieces = [piece for chunk in chunked(stream, places) for piece in splitter.feed(chunk)]
    assert pieces == [Piece(4 + len(payload), payload, True) for payload in payloads]
    assert splitter.pending_bytes == 0


@given(payload=st.binary(min_size=4, max_size=60), places=PLACES, kept=st.integers(0, 63))
def test_pending_bytes_are_those_of_an_incomplete_frame(
    payload: bytes, places: list[int], kept: int, chunked: Callable[[bytes, list[int]], list[bytes]]
) -> None:
    beginning = framed(payload)[: min(kept, len(payload) + 3)]
    splitter = FrameSplitter()
    assert [piece for chunk in chunked(beginning, places) for piece in splitter.feed(chunk)] == []
    assert splitter.pending_bytes == len(beginning)


@given(size=st.integers(HEAD_BYTES + 1, 3 * HEAD_BYTES), places=PLACES)
def test_only_the_head_of_a_frame_over_the_limit_is_kept(
    size: int, places: list[int], chunked: Callable[[bytes, list[int]], list[bytes]]
) -> None:
    splitter = FrameSplitter(whole_limit_bytes=HEAD_BYTES)
    payload = bytes(range(256)) * (size // 256 + 1)
    stream = framed(payload[:size]) + framed(b"next")
    pieces = [piece for chunk in chunked(stream, places) for piece in splitter.feed(chunk)]
    assert pieces == [Piece(4 + size, payload[:HEAD_BYTES], False), Piece(8, b"next", True)]


@given(payload=st.binary(min_size=4, max_size=40), begun=st.integers(0, 43), more=st.integers(1, 60))
def test_the_rest_of_a_frame_is_known_once_its_size_is_known(payload: bytes, begun: int, more: int) -> None:
    whole = framed(payload)
    stream = whole + framed(b"next one") * 8
    begun = min(begun, len(whole) - 1)
    splitter = FrameSplitter()
    assert list(splitter.feed(stream[:begun])) == []
    is_known = begun == 0 or begun + more >= 4
    assert splitter.rest_bytes(stream[begun : begun + more]) == (
        None if not is_known else len(whole) - begun if begun else 0
    )


def test_a_claimed_large_size_allocates_nothing() -> None:
    splitter = FrameSplitter()
    assert list(splitter.feed((200 * 2**20).to_bytes(4) + b"beginning")) == []
    assert splitter.pending_bytes == 13


@pytest.mark.parametrize("size", [-1, 0, 3, 2**31 - 1])
def test_an_impossible_size_is_refused(size: int) -> None:
    with raises_code(NotAFrame, "frame-size", size=size):
        list(FrameSplitter().feed(size.to_bytes(4, signed=True)))


def test_frames_before_a_broken_one_are_returned() -> None:
    pieces = FrameSplitter().feed(framed(b"good") + b"\xff\xff\xff\xff")
    assert next(pieces).payload == b"good"
    with pytest.raises(NotAFrame):
        next(pieces)
