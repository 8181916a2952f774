"""Rows at rest: what went in comes out, and anything that was cut off, changed or blown up is one error."""

from __future__ import annotations

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from harness.files.zstd import Damaged, packed, unpacked
from testkit.codes import raises_code

#: As rows are: much alike, and sometimes long.
data = st.binary(max_size=500) | st.builds(
    lambda unit, times: unit * times, st.binary(min_size=1, max_size=80), st.integers(1, 5_000)
)


@given(data)
def test_what_went_in_comes_out_and_gives_the_same_frame_again(content: bytes) -> None:
    assert unpacked(packed(content)) == content
    assert packed(content) == packed(content)


@given(data, st.data())
def test_whatever_is_cut_off_is_missed(content: bytes, drawn: st.DataObject) -> None:
    frame = packed(content)
    with pytest.raises(Damaged):
        unpacked(frame[: drawn.draw(st.integers(0, len(frame) - 1))])


@given(data, st.binary(min_size=1, max_size=20))
def test_whatever_follows_is_no_part_of_it(content: bytes, more: bytes) -> None:
    for behind in (more, packed(more)):
        with pytest.raises(Damaged):
            unpacked(packed(content) + behind)


@given(data, st.data())
def test_a_changed_byte_never_changes_what_comes_out(content: bytes, drawn: st.DataObject) -> None:
    frame = bytearray(packed(content))
    frame[drawn.draw(st.integers(0, len(frame) - 1))] ^= drawn.draw(st.integers(1, 255))
    try:
        assert unpacked(bytes(frame), 2**20) == content
    except Damaged:
        pass


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_one_error(noise: bytes) -> None:
    for frame in (noise, zstandard.FRAME_HEADER + noise):
        try:
            assert len(unpacked(frame, 1_000)) <= 1_000
        except Damaged:
            pass


def piped(content: bytes) -> bytes:
    """As ``zstd`` writes what it reads from a pipe: without its length."""
    pipe = zstandard.ZstdCompressor(write_checksum=True).compressobj()
    return pipe.compress(content) + pipe.flush()


@pytest.mark.parametrize("pack", [packed, piped])
@given(size=st.integers(1, 300_000))
def test_the_limit_is_exact(pack, size: int) -> None:
    frame = pack(bytes(size))
    assert unpacked(frame, size) == bytes(size)
    with pytest.raises(Damaged):
        unpacked(frame, size - 1)


@given(data)
def test_what_was_packed_by_hand_through_a_pipe_is_read(content: bytes) -> None:
    assert unpacked(piped(content)) == content


def test_no_more_is_packed_than_can_be_unpacked() -> None:
    assert unpacked(packed(bytes(10), 10), 10) == bytes(10)
    with raises_code(Damaged, "frame-too-large", size=11, most_bytes=10):
        packed(bytes(11), 10)
