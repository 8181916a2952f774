"""Compressed rows: they are unpacked unchanged, and truncated, changed or oversized data is one error."""

from __future__ import annotations

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from harness.files.zstd import Damaged, packed, unpacked
from testkit.codes import raises_code

#: Row files contain many similar rows and can be long.
data = st.binary(max_size=500) | st.builds(
    lambda unit, times: unit * times, st.binary(min_size=1, max_size=80), st.integers(1, 5_000)
)


@given(data)
def test_content_round_trips_and_packs_deterministically(content: bytes) -> None:
    assert unpacked(packed(content)) == content
    assert packed(content) == packed(content)


@given(data, st.data())
def test_a_truncated_frame_is_damaged(content: bytes, drawn: st.DataObject) -> None:
    frame = packed(content)
    with pytest.raises(Damaged):
        unpacked(frame[: drawn.draw(st.integers(0, len(frame) - 1))])


@given(data, st.binary(min_size=1, max_size=20))
def test_trailing_data_is_an_error(content: bytes, more: bytes) -> None:
    for behind in (more, packed(more)):
        with pytest.raises(Damaged):
            unpacked(packed(content) + behind)


@given(data, st.data())
def test_a_changed_byte_never_changes_the_content(content: bytes, drawn: st.DataObject) -> None:
    frame = bytearray(packed(content))
    frame[drawn.draw(st.integers(0, len(frame) - 1))] ^= drawn.draw(st.integers(1, 255))
    try:
        assert unpacked(bytes(frame), 2**20) == content
    except Damaged:
        pass


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_a_frame_or_one_error(noise: bytes) -> None:
    for frame in (noise, zstandard.FRAME_HEADER + noise):
        try:
            assert len(unpacked(frame, 1_000)) <= 1_000
        except Damaged:
            pass


def piped(content: bytes) -> bytes:
    """Compress as ``zstd`` does from a pipe: without the length of the content."""
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
def test_a_frame_without_a_length_is_read(content: bytes) -> None:
    assert unpacked(piped(content)) == content


def test_content_over_the_limit_is_not_packed() -> None:
    assert unpacked(packed(bytes(10), 10), 10) == bytes(10)
    with raises_code(Damaged, "frame-too-large", size=11, most_bytes=10):
        packed(bytes(11), 10)
