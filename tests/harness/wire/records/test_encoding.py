"""Zigzag varints and single records: golden bytes, limits, and a comparison with kio's varints."""

from __future__ import annotations

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.serial import readers, writers

from harness.wire.errors import WireError
from harness.wire.records import record_size_bytes
from harness.wire.records.encoding import MAX_VARLONG_BYTES, read_varint, write_record, write_varint
from testkit.codes import raises_code

int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)
contents = st.none() | st.binary(max_size=200)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
header_lists = st.lists(st.tuples(names, contents), max_size=4)


@pytest.mark.parametrize(
    ("value", "golden"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-8192, "ff7f"),
        (8192, "808001"),
        (2**31 - 1, "feffffff0f"),
        (-(2**31), "ffffffff0f"),
        (2**63 - 1, "feffffffffffffffff01"),
        (-(2**63), "ffffffffffffffffff01"),
    ],
)
def test_varints_match_golden_bytes(value: int, golden: str) -> None:
    assert write_varint(value) == bytes.fromhex(golden)
    assert read_varint(bytes.fromhex(golden), 0, MAX_VARLONG_BYTES) == (value, len(golden) // 2)


@given(int32s, st.binary(max_size=4))
def test_varints_of_32_bits_match_kio(value: int, tail: bytes) -> None:
    written = write_varint(value)
    assert read_varint(written + tail, 0) == (value, len(written))
    assert readers.read_signed_varint(written, 0) == (value, len(written))
    out = BytesIO()
    writers.write_signed_varint(out, value)
    assert out.getvalue() == written


@given(int64s, st.binary(max_size=4))
def test_varints_of_64_bits_match_kio(value: int, tail: bytes) -> None:
    written = write_varint(value)
    assert read_varint(written + tail, 0, MAX_VARLONG_BYTES) == (value, len(written))
    assert readers.read_signed_varlong(written, 0) == (value, len(written))
    for end in range(len(written)):
        with raises_code(WireError, "varint-cut-off"):
            read_varint(written[:end], 0, MAX_VARLONG_BYTES)


@given(int64s, int64s)
def test_a_difference_of_timestamps_wraps_as_in_java(later: int, earlier: int) -> None:
    delta, _ = read_varint(write_varint(later - earlier), 0, MAX_VARLONG_BYTES)
    assert (earlier + delta - later) % 2**64 == 0


def test_an_endless_varint_is_refused() -> None:
    with raises_code(WireError, "varint-range", max_bytes=5):
        read_varint(b"\xff" * 20, 0)
    with raises_code(WireError, "varint-range", max_bytes=10):
        read_varint(b"\xff" * 20, 0, MAX_VARLONG_BYTES)


def test_a_record_matches_golden_bytes() -> None:
    written = write_record(-1, 3, b"k", None, (("h", b""), ("", None)))
    #        length 12, attributes, timestamp, offset, key, null, 2 headers: "h" and empty, "" and null
    assert written == bytes.fromhex("18 00 01 06 02 6b 01 04 02 68 00 00 01")


@given(int64s, int32s, contents, contents, header_lists)
def test_the_estimated_size_is_an_upper_bound(
    delta_ms: int,
    index: int,
    key: bytes | None,
    value: bytes | None,
    headers: list[tuple[str, bytes | None]],
) -> None:
    written = len(write_record(delta_ms, index, key, value, headers))
    bound = record_size_bytes(key, value, headers)
    assert written <= bound <= written + 21


@pytest.mark.parametrize("size", [0, 63, 64, 8100, 8191, 8192, 100_000])
def test_null_and_empty_are_encoded_differently(size: int) -> None:
    def varints(*values: int) -> bytes:
        return b"".join(map(write_varint, values))

    content = bytes(size)
    for head, tail, key, value in (
        (varints(0, 7, -1, size), b"\x00", None, content),
        (varints(0, 7, 0, size), b"\x00", b"", content),
        (varints(0, 7, size), b"\x01\x00", content, None),
        (varints(0, 7, size), b"\x00\x00", content, b""),
    ):
        body = b"\x00" + head + content + tail
        assert write_record(0, 7, key, value, ()) == varints(len(body)) + body
