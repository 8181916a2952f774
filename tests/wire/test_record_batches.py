"""Record batches: written, read, restamped, damaged; golden bytes by hand, and kio as an independent witness."""

from __future__ import annotations

import dataclasses
import struct
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.records.readers import read_batch as kio_read_batch
from kio.records.schema import NewRecordBatch
from kio.records.schema import Record as KioRecord
from kio.records.schema import RecordHeader as KioHeader
from kio.records.writers import write_batch as kio_write_batch

from harness.wire.errors import WireError
from harness.wire.records import (
    BATCH_OVERHEAD_BYTES,
    BatchBuilder,
    Codec,
    Record,
    assign_offset,
    control_type,
    end_transaction_marker,
    increment_sequence,
    read_batches,
    read_headers,
    restamp,
)

int64s = st.integers(-(2**63), 2**63 - 1)
int32s = st.integers(-(2**31), 2**31 - 1)
int16s = st.integers(-(2**15), 2**15 - 1)
contents = st.none() | st.binary(max_size=50)
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
headers = st.lists(st.tuples(names, contents), max_size=3).map(tuple)
rows = st.lists(st.tuples(int64s, contents, contents, headers), min_size=1, max_size=5)
codecs = st.sampled_from(list(Codec))
offsets = st.integers(0, 2**62)
producers = st.tuples(int64s, int16s, int32s)


def fill(rows_: list[Any], codec: Codec = Codec.NONE) -> BatchBuilder:
    builder = BatchBuilder(codec)
    for index, row in enumerate(rows_):
        assert builder.append(*row) == index
    return builder


def sample(codec: Codec = Codec.NONE) -> bytes:
    rows_ = [(1_000, b"key", b"value", (("h", b"1"),)), (999, None, b"", ()), (5_000, b"", None, ())]
    return fill(rows_, codec).build(7, 1, 40)


def slow_crc32c(data: bytes) -> int:
    """The Castagnoli polynomial, a bit at a time."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def with_fresh_crc(batch: bytes) -> bytes:
    return batch[:17] + crc32c(batch[21:]).to_bytes(4, "big") + batch[21:]


def with_field(batch: bytes, at: int, layout: str, value: int) -> bytes:
    """The batch with one header field overwritten, and a CRC that fits."""
    changed = bytearray(batch)
    struct.pack_into(layout, changed, at, value)
    return with_fresh_crc(bytes(changed))


def test_a_golden_batch() -> None:
    covered = bytes.fromhex(
        "0010"  # attributes: transactional, not compressed, CreateTime
        "00000001"  # last offset delta
        "00000000000003e8"  # base timestamp 1000
        "00000000000003ea"  # max timestamp 1002
        "0000000000000007"  # producer id
        "0002"  # producer epoch
        "7fffffff"  # base sequence: the last before the wrap
        "00000002"  # two records
        "10 00 00 00 02 6b 02 76 00"  # 8 bytes, k and v
        "0e 00 04 02 01 00 00".replace("0e", "0c")  # 6 bytes: +2 ms, offset +1, null key, empty value
    )
    head = bytes.fromhex("0000000000000064000000410000000502")  # offset 100, length 65, epoch 5, magic
    golden = head + slow_crc32c(covered).to_bytes(4, "big") + covered
    builder = BatchBuilder()
    builder.append(1000, b"k", b"v")
    builder.append(1002, None, b"")
    built = builder.build(7, 2, 2**31 - 1, base_offset=100, partition_leader_epoch=5, transactional=True)
    assert built.hex(" ") == golden.hex(" ")
    assert builder.size_bytes == len(golden)

    (batch,) = read_batches(golden)
    assert batch.crc_ok
    assert batch.records == (Record(100, 1000, b"k", b"v"), Record(101, 1002, None, b""))
    header = batch.header
    assert (header.base_offset, header.last_offset, header.size_bytes) == (100, 101, len(golden))
    assert (header.producer_id, header.producer_epoch) == (7, 2)
    assert (header.base_sequence, header.last_sequence) == (2**31 - 1, 0)
    assert (header.is_transactional, header.is_control, header.codec) == (True, False, Codec.NONE)
    assert header.timestamp_type == "CreateTime"


@given(rows, codecs, producers, offsets, int32s, st.booleans())
def test_round_trip(
    rows_: list[Any],
    codec: Codec,
    producer: tuple[int, int, int],
    offset: int,
    epoch: int,
    transactional: bool,
) -> None:
    builder = fill(rows_, codec)
    built = builder.build(
        *producer, base_offset=offset, partition_leader_epoch=epoch, transactional=transactional
    )
    (batch,) = read_batches(built)
    assert batch.crc_ok
    assert batch.records == tuple(Record(offset + i, *row) for i, row in enumerate(rows_))
    header = batch.header
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == producer
    assert (header.codec, header.is_transactional, header.is_control) == (codec, transactional, False)
    assert (header.base_offset, header.partition_leader_epoch) == (offset, epoch)
    assert header.base_timestamp_ms == rows_[0][0]
    assert header.max_timestamp_ms == max(row[0] for row in rows_)
    assert header.record_count == builder.record_count == len(rows_) == header.last_offset_delta + 1
    assert header.size_bytes == len(built)
    if codec is Codec.NONE:
        assert builder.size_bytes == len(built)


@given(rows, codecs, producers, producers)
def test_restamping_is_building_anew(
    rows_: list[Any], codec: Codec, before: tuple[int, int, int], after: tuple[int, int, int]
) -> None:
    builder = fill(rows_, codec)
    assert restamp(builder.build(*before), *after) == builder.build(*after)


@given(rows, codecs, offsets, int32s)
def test_assigning_an_offset_is_building_anew(
    rows_: list[Any], codec: Codec, offset: int, epoch: int
) -> None:
    builder = fill(rows_, codec)
    appended = assign_offset(builder.build(1, 2, 3), offset, epoch)
    assert appended == builder.build(1, 2, 3, base_offset=offset, partition_leader_epoch=epoch)


@pytest.mark.parametrize("damaged", [b"", sample()[:-1], sample() + b"x", sample() + sample(), bytes(80)])
def test_only_one_whole_batch_can_be_restamped(damaged: bytes) -> None:
    with pytest.raises(WireError):
        restamp(damaged, 1, 2, 3)
    with pytest.raises(WireError):
        assign_offset(damaged, 1)


def test_fields_out_of_range() -> None:
    with pytest.raises(WireError, match="out of its range"):
        restamp(sample(), 1, 2**15, 3)
    with pytest.raises(WireError, match="out of its range"):
        assign_offset(sample(), 2**63)
    builder = fill([(0, b"", b"")])
    with pytest.raises(WireError, match="out of its range"):
        builder.build(base_sequence=2**31)


def test_a_batch_without_records() -> None:
    with pytest.raises(WireError, match="needs a record"):
        BatchBuilder(base_timestamp_ms=5).build()


def test_timestamps_relative_to_a_given_base() -> None:
    builder = BatchBuilder(base_timestamp_ms=5_000)
    builder.append(4_000, None, b"v")
    (batch,) = read_batches(builder.build())
    assert (batch.header.base_timestamp_ms, batch.header.max_timestamp_ms) == (5_000, 4_000)
    assert batch.records[0].timestamp_ms == 4_000


@pytest.mark.parametrize("codec", list(Codec))
def test_every_flipped_bit_behind_the_crc_is_noticed(codec: Codec) -> None:
    good = sample(codec)
    for at in range(17, len(good)):
        for bit in range(8):
            flipped = good[:at] + bytes([good[at] ^ 1 << bit]) + good[at + 1 :]
            (batch,) = read_batches(flipped)
            assert not batch.crc_ok
            assert batch.records == ()


@given(st.lists(codecs, max_size=4), st.data())
def test_a_batch_that_is_cut_off_is_left_out(chosen: list[Codec], data: st.DataObject) -> None:
    batches = [assign_offset(sample(codec), 10 * i) for i, codec in enumerate(chosen)]
    whole = b"".join(batches)
    end = data.draw(st.integers(0, len(whole)))
    fits = sum(sum(map(len, batches[: i + 1])) <= end for i in range(len(batches)))
    for view in (whole[:end], bytearray(whole[:end]), memoryview(whole)[:end]):
        read = list(read_batches(view))
        assert [batch.header.base_offset for batch in read] == [10 * i for i in range(fits)]
        assert list(read_headers(view)) == [batch.header for batch in read]


def test_headers_need_neither_crc_nor_codec() -> None:
    broken = sample(Codec.ZSTD)[:-4] + b"oops"
    (header,) = read_headers(broken)
    assert (header.producer_id, header.record_count, header.codec) == (7, 3, Codec.ZSTD)


def test_log_append_time_is_every_records_timestamp() -> None:
    (batch,) = read_batches(with_field(sample(), 21, ">h", 0x08))
    assert batch.header.timestamp_type == "LogAppendTime"
    assert {record.timestamp_ms for record in batch.records} == {5_000}


def test_a_batch_without_a_sequence() -> None:
    (header,) = read_headers(fill([(0, None, None), (0, None, None)]).build())
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)
    assert header.last_sequence == -1


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_sequences_count_round(sequence: int, increment: int) -> None:
    later = increment_sequence(sequence, increment)
    assert 0 <= later < 2**31
    assert (later - sequence - increment) % 2**31 == 0
    assert increment_sequence(later, -increment) == sequence


def test_after_the_last_sequence_comes_zero() -> None:
    assert increment_sequence(2**31 - 1, 1) == 0
    assert increment_sequence(0, -1) == 2**31 - 1


@pytest.mark.parametrize(("kind", "number"), [("ABORT", 0), ("COMMIT", 1)])
def test_transaction_markers(kind: Any, number: int) -> None:
    marker = end_transaction_marker(kind, 7, 2, 1_000, coordinator_epoch=3, base_offset=9)
    (batch,) = read_batches(marker)
    header = batch.header
    assert (header.is_control, header.is_transactional, header.base_sequence) == (True, True, -1)
    assert (header.producer_id, header.producer_epoch, header.last_offset) == (7, 2, 9)
    (record,) = batch.records
    assert record.key == bytes.fromhex("0000") + number.to_bytes(2, "big")
    assert record.value == bytes.fromhex("0000 00000003")
    assert control_type(record) == kind


def test_control_records_of_other_kinds() -> None:
    assert control_type(Record(0, 0, bytes.fromhex("0000 0002"), b"")) == "LEADER_CHANGE"
    assert control_type(Record(0, 0, bytes.fromhex("0000 0063"), b"")) == "UNKNOWN"
    for key in (None, b"", b"\x00\x00\x00", bytes.fromhex("ffff 0001")):
        with pytest.raises(WireError, match="offset 4"):
            control_type(Record(4, 0, key, b""))


@pytest.mark.parametrize(
    ("batch", "sentence"),
    [
        (with_field(sample(), 16, ">b", 1), r"format \(magic\) 1; only 2"),
        (with_field(sample(), 8, ">i", -1), "claims a length of -1 bytes"),
        (with_field(sample(), 8, ">i", 48), "claims a length of 48 bytes"),
        (with_field(sample(), 21, ">h", 5), "no compression codec has the number 5"),
        (with_field(sample(), 57, ">i", -1), "claims -1 records"),
        (with_field(sample(), 57, ">i", 2), "left over behind the 2 records"),
        (with_field(sample(), 57, ">i", 4), "cut off"),
        (with_field(sample(), 57, ">i", 2**31 - 1), "cut off"),
        (with_field(sample(), 21, ">h", 4), "broken zstd data"),
    ],
)
def test_broken_in_spite_of_its_crc(batch: bytes, sentence: str) -> None:
    with pytest.raises(WireError, match=sentence):
        list(read_batches(batch))


def test_what_came_before_a_broken_batch_is_given_out() -> None:
    reading = read_batches(sample() + with_field(sample(), 57, ">i", 2))
    assert next(reading).crc_ok
    with pytest.raises(WireError):
        next(reading)


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_bomb_is_refused(codec: Codec) -> None:
    bomb = fill([(0, None, bytes(2_000_000))], codec).build()
    assert len(bomb) < 200_000
    assert len(list(read_batches(bomb))) == 1
    with pytest.raises(WireError, match="more than the limit of 1000000 bytes"):
        list(read_batches(bomb, max_decompressed_bytes=1_000_000))


@given(st.binary(max_size=120), st.sampled_from([0, 1, 2, 3, 4, 8]), int32s | st.integers(0, 3))
@settings(max_examples=300)
def test_garbage_behind_a_good_crc_is_records_or_a_wire_error(
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


@given(st.binary(max_size=200))
def test_garbage_is_nothing_or_a_wire_error(garbage: bytes) -> None:
    for read in (read_batches, read_headers):
        try:
            assert sum(item is not None for item in read(garbage)) <= len(garbage) // BATCH_OVERHEAD_BYTES
        except WireError:
            pass


@given(codecs, st.integers(0, 10_000), st.integers(1, 255))
def test_one_damaged_byte_in_the_records_never_raises_anything_else(
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


def test_a_header_name_that_is_no_text_does_not_hide_the_record() -> None:
    builder = fill([(0, None, None, (("ab", b""),))])
    raw = builder.build().replace(b"\x04ab", b"\x04a\xff")
    (batch,) = read_batches(with_fresh_crc(raw))
    assert batch.records[0].headers == (("a\ufffd", b""),)


def test_values_are_values() -> None:
    (batch,) = read_batches(sample())
    with pytest.raises(dataclasses.FrozenInstanceError):
        batch.records[0].offset = 5  # type: ignore[misc]


# kio has record batches too (uncompressed, whole seconds): written and read by other hands than ours.
kio_rows = st.lists(
    st.tuples(st.integers(0, 2**31).map(lambda s: 1000 * s), contents, contents, headers),
    min_size=1,
    max_size=4,
)


def kio_record(index: int, timestamp_ms: int, key: Any, value: Any, headers_: Any) -> KioRecord:
    return KioRecord(
        attributes=0,  # type: ignore[arg-type]
        timestamp=datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timestamp_ms),  # type: ignore[arg-type]
        offset=index,  # type: ignore[arg-type]
        key=key,
        value=value,
        headers=tuple(KioHeader(key=name.encode(), value=content) for name, content in headers_),
    )


@given(kio_rows, producers)
def test_kio_writes_the_same_bytes_and_reads_ours(rows_: list[Any], producer: tuple[int, int, int]) -> None:
    theirs: Any = NewRecordBatch(
        producer_id=producer[0],  # type: ignore[arg-type]
        producer_epoch=producer[1],  # type: ignore[arg-type]
        partition_leader_epoch=-1,  # type: ignore[arg-type]
        base_sequence=producer[2],  # type: ignore[arg-type]
        attributes=0,  # type: ignore[arg-type]
        records=tuple(kio_record(i, *row) for i, row in enumerate(rows_)),
    )
    out = BytesIO()
    kio_write_batch(out, theirs)
    ours = fill(rows_).build(*producer)
    assert ours == out.getvalue()
    read, size = kio_read_batch(ours, 0)
    assert size == len(ours)
    assert read.records == theirs.records
