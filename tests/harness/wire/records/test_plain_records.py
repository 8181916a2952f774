"""The fast loop for records of one layout: it reads the same as the general loop, or leaves the record to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.wire.errors import WireError
from harness.wire.records import record_loop
from harness.wire.records.decoding import _general_loop
from harness.wire.records.encoding import write_record
from harness.wire.records.plain_records import layout_at, plain_loops
from harness.wire.source import Source

Row = tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]

BASE_OFFSET, BASE_MS = 1_000, 1_700_000_000_000
MOST_INT64 = 2**63 - 1


def made(source: Source) -> str:
    return "(base_offset + index, timestamp_ms, key, value, headers, key_size, value_size, constant)"


read = record_loop(made, "constant")
read_any = _general_loop(made, ("constant",))
read_unkeyed, read_keyed = plain_loops(made, "constant")

#: The sizes around which an integer gets another byte, also the size of a record around these values.
sizes = st.sampled_from([0, 1, 50, 55, 56, 57, 58, 62, 63, 64, 100, 8191, 8192])
contents = st.none() | sizes.map(lambda size: b"x" * size)
headers = st.just(()) | st.just((("h", b"1"),)) | st.just((("h", b"\0"),))
stamps = st.sampled_from([0, 1, 63, 64, 8191, 8192, -1, 2**40])
strides = st.sampled_from([1, 2, 60, 8000])


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    """Return records as batches have them: runs that resemble each other, and other records in between."""
    found: list[Row] = []
    index = 0
    for _ in range(draw(st.integers(1, 4))):
        key, value, stamp = draw(contents), draw(contents), draw(stamps)
        header, stride = draw(headers), draw(strides)
        for _ in range(draw(st.sampled_from([1, 2, 7, 9, 20]))):
            found.append((stamp, index, key, value, header))
            index += stride
    return found


def encoded(written: list[Row]) -> bytes:
    return b"".join(write_record(*row) for row in written)


def outcome(
    loop: Any, data: bytes, counts: list[int], base_ms: int, append_time_ms: int | None, *, into: Any
) -> Any:
    """Return what a loop reads in portions, and how it ends."""
    values: list[Any] = []
    at = 0
    try:
        for count in counts:
            at = loop(data, at, count, into(values), BASE_OFFSET, base_ms, append_time_ms, "c")
    except WireError as error:
        return values, error.code, error.params
    return values, at


def compared(
    data: bytes, counts: list[int], base_ms: int = BASE_MS, append_time_ms: int | None = None
) -> Any:
    ours = outcome(read, data, counts, base_ms, append_time_ms, into=lambda values: values)
    theirs = outcome(read_any, data, counts, base_ms, append_time_ms, into=lambda values: values.append)
    is_same = ours == theirs  # pytest would take minutes to explain the difference of many bytes
    assert is_same, (len(ours[0]), ours[1:], len(theirs[0]), theirs[1:])
    return ours


def portions(draw: Any, total: int) -> list[int]:
    most = draw(st.sampled_from([1, 5, 500]))
    return [min(most, total - begun) for begun in range(0, total, most)]


@settings(max_examples=60)
@given(rows(), st.data(), st.sampled_from([BASE_MS, MOST_INT64, -MOST_INT64, 0]), st.sampled_from([None, 7]))
def test_both_loops_read_the_same(
    written: list[Row], data: st.DataObject, base_ms: int, append_time_ms: int | None
) -> None:
    bytes_ = encoded(written)
    values, at = compared(bytes_, portions(data.draw, len(written)), base_ms, append_time_ms)
    assert at == len(bytes_)
    assert [value[0] - BASE_OFFSET for value in values] == [row[1] for row in written]
    assert [value[2:5] for value in values] == [row[2:] for row in written]


@settings(max_examples=60)
@given(rows(), st.data())
def test_damaged_records_have_the_same_outcome(written: list[Row], data: st.DataObject) -> None:
    """A changed byte, a cut end or a wrong count: the same records, and the same error with the same parameters."""
    damaged = bytearray(encoded(written))
    for _ in range(data.draw(st.integers(0, 2))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, 12))
    counts = portions(data.draw, max(1, len(written) + data.draw(st.integers(-1, 2))))
    compared(bytes(damaged[: len(damaged) - cut]), counts)


@pytest.mark.parametrize("key", [None, b"key"])
def test_every_damage_of_the_last_records_has_the_same_outcome(key: bytes | None) -> None:
    """The fast loop reads the end of a record with the record after it, which the last one does not have."""
    written: list[Row] = [(5, 70 + index, key, b"v" * 70, ()) for index in range(12)]
    data = encoded(written)
    for at in range(len(data) * 5 // 6, len(data)):
        compared(data[:at], [12])
        for byte in (0, 1, 2, 4, 0x7F, 0x80, 0xFF):
            compared(data[:at] + bytes([byte]) + data[at + 1 :], [12])


def test_an_offset_of_three_bytes_is_not_taken_for_a_shorter_one_and_no_key() -> None:
    """The third byte of the offset 16,000 looks like the size of a null key."""
    written: list[Row] = [(63, 8000 * index, b"x" * 56, None, (("h", b"\0"),)) for index in range(20)]
    compared(encoded(written), [20])


def test_a_long_delta_is_invalid_even_if_the_time_is_that_of_the_append() -> None:
    written: list[Row] = [(8192, index, b"x" * 56, None, (("h", b"\0"),)) for index in range(9)]
    compared(encoded(written), [9], append_time_ms=7)


@given(st.binary(max_size=400), st.integers(1, 50))
def test_garbage_has_the_same_outcome(garbage: bytes, count: int) -> None:
    compared(garbage, [count])


@pytest.mark.parametrize("key", [None, b"", b"k" * 63, b"k" * 64, b"k" * 4_000])
@pytest.mark.parametrize("value_bytes", [0, 40, 64, 4_100])
@pytest.mark.parametrize("stamp", [0, 63, 64, 8191])
def test_plain_records_are_read_by_the_fast_loop(key: bytes | None, value_bytes: int, stamp: int) -> None:
    """Otherwise the loops would agree because only one of them reads."""
    written: list[Row] = [(stamp, 100 + index, key, b"v" * value_bytes, ()) for index in range(20)]
    data = encoded(written)
    first = len(write_record(*written[0]))
    layout = layout_at(data, first)
    assert layout is not None and bool(layout.keys) == (key is not None)
    loop = read_keyed if layout.keys else read_unkeyed
    values: list[Any] = []
    given_ = (BASE_OFFSET, BASE_MS, None, "c")
    assert loop(data, first, 50, values, *given_, *layout) == (len(data), 19)
    assert values == outcome(read_any, data, [20], BASE_MS, None, into=lambda each: each.append)[0][1:]


@pytest.mark.parametrize("key", [None, b"key"])
def test_the_fast_loop_leaves_what_is_not_plain(key: bytes | None) -> None:
    """The record before it is the last that it reads, and nothing is raised."""
    plain: Row = (0, 100, key, b"value", ())
    for other in (
        (0, 101, key, None, ()),
        (0, 101, key, b"value", (("h", b"1"),)),
        (64, 101, key, b"value", ()),
        (-1, 101, key, b"value", ()),
        (0, 8192, key, b"value", ()),
        (0, 101, b"another key" if key is None else None, b"value", ()),
        (0, 101, key, b"v" * 9_000, ()),
    ):
        written: list[Row] = [plain, plain, other, plain]
        data = encoded(written)
        first = len(write_record(*plain))
        layout = layout_at(data, first)
        assert layout is not None
        values: list[Any] = []
        loop = read_unkeyed if key is None else read_keyed
        assert loop(data, first, 3, values, BASE_OFFSET, BASE_MS, None, "c", *layout) == (2 * first, 1)
