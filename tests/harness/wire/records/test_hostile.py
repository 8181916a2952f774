"""Record batches that are truncated, damaged, inconsistent, or garbage."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.wire.errors import WireError
from harness.wire.records import (
    BATCH_OVERHEAD_BYTES,
    BatchBuilder,
    Codec,
    assign_offset,
    read_batches,
    read_headers,
)
from testkit.codes import coded, raises_code

int32s = st.integers(-(2**31), 2**31 - 1)
codecs = st.sampled_from(list(Codec))


def fill(rows_: list[Any], codec: Codec = Codec.NONE) -> BatchBuilder:
    builder = BatchBuilder(codec)
    for index, row in enumerate(rows_):
        assert builder.append(*row) == index
    return builder


def sample(codec: Codec = Codec.NONE) -> bytes:
    rows_ = [(1_000, b"key", b"value", (("h", b"1"),)), (999, None, b"", ()), (5_000, b"", None, ())]
    return fill(rows_, codec).build(7, 1, 40)


def with_fresh_crc(batch: bytes) -> bytes:
    return batch[:17] + crc32c(batch[21:]).to_bytes(4, "big") + batch[21:]


def with_field(batch: bytes, at: int, layout: str, value: int) -> bytes:
    """Return the batch with one header field overwritten and a matching CRC."""
    changed = bytearray(batch)
    struct.pack_into(layout, changed, at, value)
    return with_fresh_crc(bytes(changed))


@pytest.mark.parametrize("codec", list(Codec))
def test_every_flipped_bit_covered_by_the_crc_is_detected(codec: Codec) -> None:
    good = sample(codec)
    for at in range(17, len(good)):
        for bit in range(8):
            flipped = good[:at] + bytes([good[at] ^ 1 << bit]) + good[at + 1 :]
            (batch,) = read_batches(flipped)
            assert not batch.crc_ok
            assert batch.records == ()


@given(st.lists(codecs, max_size=4), st.data())
def test_a_truncated_batch_is_ignored(chosen: list[Codec], data: st.DataObject) -> None:
    batches = [assign_offset(sample(codec), 10 * i) for i, codec in enumerate(chosen)]
    whole = b"".join(batches)
    end = data.draw(st.integers(0, len(whole)))
    fits = sum(sum(map(len, batches[: i + 1])) <= end for i in range(len(batches)))
    for view in (whole[:end], bytearray(whole[:end]), memoryview(whole)[:end]):
        read = list(read_batches(view))
        assert [batch.header.base_offset for batch in read] == [10 * i for i in range(fits)]
        assert list(read_headers(view)) == [batch.header for batch in read]


def test_headers_are_read_without_crc_and_codec() -> None:
    broken = sample(Codec.ZSTD)[:-4] + b"oops"
    (header,) = read_headers(broken)
    assert (header.producer_id, header.record_count, header.codec) == (7, 3, Codec.ZSTD)


def test_log_append_time_applies_to_every_record() -> None:
    (batch,) = read_batches(with_field(sample(), 21, ">h", 0x08))
    assert batch.header.timestamp_type == "LogAppendTime"
    assert {record.timestamp_ms for record in batch.records} == {5_000}


@pytest.mark.parametrize(
    ("batch", "sentence"),
    [
        (with_field(sample(), 16, ">b", 1), coded("batch-format", magic=1)),
        (with_field(sample(), 8, ">i", -1), coded("batch-length", length=-1)),
        (with_field(sample(), 8, ">i", 48), coded("batch-length", length=48)),
        (with_field(sample(), 21, ">h", 5), coded("unknown-codec", number=5)),
        (with_field(sample(), 57, ">i", -1), coded("record-count", count=-1)),
        (with_field(sample(), 57, ">i", 2), coded("bytes-left-over", count=2)),
        (with_field(sample(), 57, ">i", 4), "varint-cut-off"),
        (with_field(sample(), 57, ">i", 2**31 - 1), "varint-cut-off"),
        (with_field(sample(), 21, ">h", 4), coded("compressed-data-broken", codec="zstd")),
    ],
)
def test_a_broken_batch_with_a_valid_crc_is_a_wire_error(batch: bytes, sentence: str) -> None:
    with raises_code(WireError, sentence):
        list(read_batches(batch))


def test_batches_before_a_broken_one_are_returned() -> None:
    reading = read_batches(sample() + with_field(sample(), 57, ">i", 2))
    assert next(reading).crc_ok
    with pytest.raises(WireError):
        next(reading)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_bomb_is_refused(codec: Codec) -> None:
    bomb = fill([(0, None, bytes(2_000_000))], codec).build()
    assert len(bomb) < 200_000
    assert len(list(read_batches(bomb))) == 1
    with raises_code(WireError, "decompressed-too-large", max_bytes=1000000):
        list(read_batches(bomb, max_decompressed_bytes=1_000_000))


@given(st.binary(max_size=120), st.sampled_from([0, 1, 2, 3, 4, 8]), int32s | st.integers(0, 3))
@settings(max_examples=300)
def test_garbage_with_a_valid_crc_is_records_or_a_wire_error(
    section: bytes, attributes: int, count: int
) -> None:
    batch = sample()[:BATCH_OVERHEAD_BYTES] + section
    batch = with_field(batch, 8, ">i", len(batch) - 12)
    batch = with_field(with_field(batch, 21, ">h", attributes), 57, ">i", count)
    try:
        (read,) = read_batches(batch, max_decompressed_bytes=1 << 16)
    except WireError:
        return
    assert len(read.records) == count


def plain_varint(data: bytes, at: int, bits: int) -> tuple[int, int]:
    """Read a zigzag varint by its definition: as many bytes as the bits need, without the bits beyond them."""
    folded = 0
    for index in range(-(-bits // 7)):
        folded |= (data[at + index] & 0x7F) << 7 * index
        if data[at + index] < 0x80:
            folded %= 1 << bits
            return (folded >> 1 if folded % 2 == 0 else -(folded >> 1) - 1), at + index + 1
    raise ValueError


def plain_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    length, at = plain_varint(data, at, 32)
    if length < -1 or at + length > len(data):
        raise ValueError
    return (None, at) if length == -1 else (data[at : at + length], at + length)


def plain_record(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    """Return offset delta, timestamp delta, key, value and headers of a record; simple and slow."""
    length, at = plain_varint(data, at, 32)
    end = at + length
    delta_ms, at = plain_varint(data, at + 1, 64)
    index, at = plain_varint(data, at, 32)
    key, at = plain_bytes(data, at)
    value, at = plain_bytes(data, at)
    count, at = plain_varint(data, at, 32)
    headers = []
    for _ in range(count):
        name, at = plain_bytes(data, at)
        content, at = plain_bytes(data, at)
        if name is None:
            raise ValueError
        headers.append((name.decode(errors="replace"), content))
    if length < 0 or count < 0 or at != end:
        raise ValueError
    return (index, delta_ms, key, value, tuple(headers)), at


def plain_records(data: bytes) -> list[tuple[Any, ...]] | None:
    """Return all records, or None if they are broken."""
    records = []
    at = 0
    try:
        while at < len(data):
            record, at = plain_record(data, at)
            records.append(record)
    except (IndexError, ValueError):
        return None
    return records


contents = st.none() | st.binary(max_size=3) | st.sampled_from([63, 64, 8192]).map(bytes)
good_rows = st.tuples(
    st.sampled_from([0, 1, 64, -1, 9_000]),
    contents,
    contents,
    st.lists(st.tuples(st.text(max_size=2), contents), max_size=2),
)


@pytest.mark.long("many broken batches")
@given(st.lists(good_rows, min_size=1, max_size=3), st.data())
@settings(max_examples=300)
def test_damaged_records_are_read_as_by_the_simple_reader(rows_: list[Any], data: st.DataObject) -> None:
    builder = BatchBuilder(base_timestamp_ms=0)
    for row in rows_:
        builder.append(*row)
    section = bytearray(builder.build()[BATCH_OVERHEAD_BYTES:])
    for _ in range(data.draw(st.integers(0, 2), label="wounds")):
        at = data.draw(st.integers(0, min(len(section) - 1, 12)), label="at")
        section[at : at + data.draw(st.integers(0, 1))] = data.draw(st.binary(max_size=1))
    expected = plain_records(section)
    batch = builder.build()[:BATCH_OVERHEAD_BYTES] + section
    batch = with_field(with_field(batch, 8, ">i", len(batch) - 12), 57, ">i", len(expected or rows_))
    if expected is None:
        with pytest.raises(WireError):
            list(read_batches(batch))
        return
    (read,) = read_batches(batch)
    found = [(r.offset, r.timestamp_ms, r.key, r.value, r.headers) for r in read.records]
    assert found == expected


@given(st.binary(max_size=200))
def test_garbage_is_no_batch_or_a_wire_error(garbage: bytes) -> None:
    for read in (read_batches, read_headers):
        try:
            assert sum(item is not None for item in read(garbage)) <= len(garbage) // BATCH_OVERHEAD_BYTES
        except WireError:
            pass


@given(codecs, st.integers(0, 10_000), st.integers(1, 255))
def test_a_damaged_byte_in_the_records_raises_nothing_but_a_wire_error(
    codec: Codec, where: int, mask: int
) -> None:
    good = sample(codec)
    at = BATCH_OVERHEAD_BYTES + where % (len(good) - BATCH_OVERHEAD_BYTES)
    damaged = with_fresh_crc(good[:at] + bytes([good[at] ^ mask]) + good[at + 1 :])
    try:
        (batch,) = read_batches(damaged, max_decompressed_bytes=1 << 16)
    except WireError:
        return
    assert len(batch.records) == 3


def test_a_header_name_with_invalid_utf_8_is_read_with_replacement() -> None:
    builder = fill([(0, None, None, (("ab", b""),))])
    raw = builder.build().replace(b"\x04ab", b"\x04a\xff")
    (batch,) = read_batches(with_fresh_crc(raw))
    assert batch.records[0].headers == (("a\ufffd", b""),)


@pytest.mark.parametrize(
    ("section", "sentence"),
    [
        ("10 00 00 00 02 6b 02 76", coded("record-too-long", size=8, left=7)),
        ("01", coded("record-too-long", size=-1, left=0)),
        ("0e 00 00 00 02 6b 08 76", coded("record-cut-off", length=4, at=7, left=1)),
        ("0c 00 00 00 03 01 00", coded("negative-length", length=-2, at=5)),
        ("10 00 00 00 01 02 76 00 00", coded("record-off-end", size=8, off=1)),
        ("0c 00 00 80", coded("record-too-long", size=6, left=3)),
        ("06 00 00 80", coded("varint-cut-off", at=3)),
    ],
)
def test_a_broken_record_is_refused_with_its_code(section: str, sentence: str) -> None:
    batch = sample()[:BATCH_OVERHEAD_BYTES] + bytes.fromhex(section)
    batch = with_field(with_field(batch, 8, ">i", len(batch) - 12), 57, ">i", 1)
    with raises_code(WireError, sentence):
        list(read_batches(batch))
