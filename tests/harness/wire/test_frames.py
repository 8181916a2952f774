"""Frames are read from any fragments of the stream, and an impossible size is refused (NET-INF-10)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.wire.errors import FrameError, WireError
from harness.wire.frames import LARGE_BYTES, FrameReader, frame
from harness.wire.primitives import Data

payloads = st.lists(st.binary(max_size=40), max_size=6)


def drain(reader: FrameReader) -> list[bytes]:
    out = []
    while (payload := reader.next_frame()) is not None:
        out.append(payload)
    return out


def test_a_frame_is_its_size_and_its_payload() -> None:
    assert frame(b"kafka") == b"\x00\x00\x00\x05kafka"
    assert frame(b"") == b"\x00\x00\x00\x00"


@given(payloads, st.data())
def test_any_fragmentation_gives_the_same_payloads(sent: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(map(frame, sent))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    reader = FrameReader()
    received = []
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        reader.feed(stream[begin:end])
        received += drain(reader)
    assert received == sent
    assert reader.pending_bytes == 0


SIZES = st.one_of(st.integers(0, 40), st.integers(LARGE_BYTES - 2, LARGE_BYTES + 40))


@given(st.lists(SIZES, max_size=4), st.lists(st.tuples(st.booleans(), st.integers(1, 90_000)), max_size=9))
def test_bytes_that_are_read_into_the_room_of_a_large_frame_are_its_bytes(sizes, reads) -> None:
    """The reads that use the room and those that do not may alternate."""
    sent = [bytes([number + 1]) * size for number, size in enumerate(sizes)]
    stream = b"".join(map(frame, sent))
    reader = FrameReader()
    received = []
    at = 0
    for uses_room, count in [*reads, *[(True, 90_000), (False, 90_000)] * 8]:
        room = reader.room() if uses_room else None
        data = stream[at : at + (count if room is None else min(count, len(room)))]
        if room is None:
            reader.feed(data)
        else:
            room[: len(data)] = data
            reader.filled(len(data))
        at += len(data)
        while (payload := reader.take_frame()) is not None:
            received.append(bytes(payload))
    assert received == sent
    assert reader.pending_bytes == 0


def test_there_is_room_only_for_a_large_frame_of_known_size() -> None:
    reader = FrameReader()
    assert reader.room() is None
    large = frame(bytes(LARGE_BYTES))
    reader.feed(large[:3])
    assert reader.room() is None
    reader.feed(large[3:9])
    room = reader.room()
    assert room is not None and len(room) == LARGE_BYTES - 5
    assert reader.pending_bytes == 9
    reader.feed(large[9:])
    assert reader.room() is None, "it is whole"
    assert reader.next_frame() == bytes(LARGE_BYTES)
    reader.feed(frame(b"small")[:6])
    assert reader.room() is None


@given(payloads)
def test_frames_are_read_byte_by_byte(sent: list[bytes]) -> None:
    reader = FrameReader()
    received = []
    for byte in b"".join(map(frame, sent)):
        reader.feed(bytes([byte]))
        received += drain(reader)
    assert received == sent


@given(payloads, st.binary(min_size=1, max_size=20), st.data())
def test_an_incomplete_frame_is_kept_until_it_is_complete(
    sent: list[bytes], last: bytes, data: st.DataObject
) -> None:
    whole = frame(last)
    tail = whole[: data.draw(st.integers(0, len(whole) - 1))]
    reader = FrameReader()
    reader.feed(b"".join(map(frame, sent)) + tail)
    assert drain(reader) == sent
    assert reader.pending_bytes == len(tail)
    reader.feed(whole[len(tail) :])
    assert drain(reader) == [last]


def test_an_empty_payload_is_returned() -> None:
    reader = FrameReader()
    reader.feed(frame(b""))
    assert reader.next_frame() == b""
    assert reader.next_frame() is None


@pytest.mark.parametrize("size", [-1, -(2**31), 11, 2**31 - 1])
def test_an_impossible_size_is_a_permanent_error(size: int) -> None:
    reader = FrameReader(max_frame_bytes=10)
    reader.feed(frame(b"0123456789") + size.to_bytes(4, "big", signed=True))
    assert reader.next_frame() == b"0123456789"
    for _ in range(2):
        with pytest.raises(FrameError) as refused:
            reader.next_frame()
        assert refused.value.params["size"] == size
        reader.feed(b"more")


def test_a_frame_error_is_a_wire_error() -> None:
    assert issubclass(FrameError, WireError)
    assert issubclass(WireError, ValueError)


@given(st.binary(max_size=64))
def test_garbage_gives_payloads_or_a_frame_error(garbage: bytes) -> None:
    reader = FrameReader(max_frame_bytes=32)
    reader.feed(garbage)
    try:
        given_out = drain(reader)
    except FrameError:
        return
    assert garbage.startswith(b"".join(map(frame, given_out)))


@given(payloads, st.lists(st.integers(0, 400), max_size=8), st.integers(0, 30))
def test_frames_are_taken_without_a_copy_as_they_are_read(
    sent: list[bytes], cuts: list[int], large_bytes: int
) -> None:
    stream = b"".join(map(frame, sent))
    places = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    reader = FrameReader()
    taken: list[Data] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harness.wire.frames.LARGE_BYTES", large_bytes)
        for begin, end in pairwise(places):
            reader.feed(memoryview(stream)[begin:end])
            while (payload := reader.take_frame()) is not None:
                taken.append(payload)
    assert taken == sent
    assert [isinstance(each, memoryview) for each in taken] == [len(each) >= large_bytes for each in sent]
    assert reader.pending_bytes == 0


def test_a_taken_view_cannot_be_written_to() -> None:
    reader = FrameReader()
    reader.feed(frame(bytes(LARGE_BYTES)))
    taken = reader.take_frame()
    assert isinstance(taken, memoryview) and taken.readonly
