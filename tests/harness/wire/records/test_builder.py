"""Record batches: building, reading, restamping and offsets; sequences and control records."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from harness.wire.records.codecs import compress
from testkit.codes import raises_code

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


@given(rows, codecs, producers, offsets, int32s, st.booleans())
def test_a_built_batch_is_read_back(
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


#: The values at which a varint becomes one byte longer, on both sides.
BORDERS = [0, 1, 63, 64, 8191, 8192, 1048575, 1048576]
sizes_bytes = st.none() | st.sampled_from(BORDERS)
deltas_ms = st.sampled_from([sign * border for sign in (1, -1) for border in (*BORDERS, 2**31, 2**62)])


@given(st.lists(st.tuples(deltas_ms, sizes_bytes, sizes_bytes, headers), min_size=1, max_size=3))
@settings(max_examples=50)
def test_lengths_and_deltas_of_every_width_are_read_back(shapes: list[Any]) -> None:
    builder = BatchBuilder(base_timestamp_ms=0)
    expected = []
    for index, (delta_ms, key_bytes, value_bytes, headers_) in enumerate(shapes):
        key = None if key_bytes is None else bytes(key_bytes)
        value = None if value_bytes is None else bytes(value_bytes)
        builder.append(delta_ms, key, value, headers_)
        expected.append(Record(index, delta_ms, key, value, headers_))
    built = builder.build()
    assert builder.size_bytes == len(built)
    (batch,) = read_batches(built)
    assert batch.records == tuple(expected)


def test_offsets_of_every_width_are_read_back() -> None:
    builder = BatchBuilder()
    for _ in range(8200):
        builder.append(0, None, b"")
    (batch,) = read_batches(builder.build())
    assert [record.offset for record in batch.records] == list(range(8200))


@pytest.mark.parametrize("level", [None, 1, 9])
def test_the_compression_level_is_passed_to_the_codec(level: int | None) -> None:
    rows_ = [(0, None, b"".join(b"word%d " % (i * i % 997) for i in range(3000)), ())]
    builder = BatchBuilder(Codec.GZIP, level=level)
    builder.append(*rows_[0])
    plain = fill(rows_).build()[BATCH_OVERHEAD_BYTES:]
    assert builder.build()[BATCH_OVERHEAD_BYTES:] == compress(Codec.GZIP, plain, level)


@given(rows, codecs, producers, producers)
def test_restamping_equals_building_again(
    rows_: list[Any], codec: Codec, before: tuple[int, int, int], after: tuple[int, int, int]
) -> None:
    builder = fill(rows_, codec)
    assert restamp(builder.build(*before), *after) == builder.build(*after)


@given(rows, codecs, offsets, int32s)
def test_assigning_an_offset_equals_building_again(
    rows_: list[Any], codec: Codec, offset: int, epoch: int
) -> None:
    builder = fill(rows_, codec)
    appended = assign_offset(builder.build(1, 2, 3), offset, epoch)
    assert appended == builder.build(1, 2, 3, base_offset=offset, partition_leader_epoch=epoch)


@pytest.mark.parametrize("damaged", [b"", sample()[:-1], sample() + b"x", sample() + sample(), bytes(80)])
def test_only_one_complete_batch_can_be_restamped(damaged: bytes) -> None:
    with pytest.raises(WireError):
        restamp(damaged, 1, 2, 3)
    with pytest.raises(WireError):
        assign_offset(damaged, 1)


def test_fields_out_of_range_are_refused() -> None:
    with raises_code(WireError, "batch-field-range"):
        restamp(sample(), 1, 2**15, 3)
    with raises_code(WireError, "batch-field-range"):
        assign_offset(sample(), 2**63)
    builder = fill([(0, b"", b"")])
    with raises_code(WireError, "batch-field-range"):
        builder.build(base_sequence=2**31)


def test_a_batch_without_records_is_refused() -> None:
    with raises_code(WireError, "batch-empty"):
        BatchBuilder(base_timestamp_ms=5).build()


def test_timestamps_can_be_relative_to_a_given_base() -> None:
    builder = BatchBuilder(base_timestamp_ms=5_000)
    builder.append(4_000, None, b"v")
    (batch,) = read_batches(builder.build())
    assert (batch.header.base_timestamp_ms, batch.header.max_timestamp_ms) == (5_000, 4_000)
    assert batch.records[0].timestamp_ms == 4_000


def test_a_batch_has_no_sequence_by_default() -> None:
    (header,) = read_headers(fill([(0, None, None), (0, None, None)]).build())
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)
    assert header.last_sequence == -1


@given(st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_sequences_wrap_around(sequence: int, increment: int) -> None:
    later = increment_sequence(sequence, increment)
    assert 0 <= later < 2**31
    assert (later - sequence - increment) % 2**31 == 0
    assert increment_sequence(later, -increment) == sequence


def test_zero_follows_the_last_sequence() -> None:
    assert increment_sequence(2**31 - 1, 1) == 0
    assert increment_sequence(0, -1) == 2**31 - 1


@pytest.mark.parametrize(("kind", "number"), [("ABORT", 0), ("COMMIT", 1)])
def test_a_transaction_marker_is_a_control_batch(kind: Any, number: int) -> None:
    marker = end_transaction_marker(kind, 7, 2, 1_000, coordinator_epoch=3, base_offset=9)
    (batch,) = read_batches(marker)
    header = batch.header
    assert (header.is_control, header.is_transactional, header.base_sequence) == (True, True, -1)
    assert (header.producer_id, header.producer_epoch, header.last_offset) == (7, 2, 9)
    (record,) = batch.records
    assert record.key == bytes.fromhex("0000") + number.to_bytes(2, "big")
    assert record.value == bytes.fromhex("0000 00000003")
    assert control_type(record) == kind


def test_other_control_records_are_named_or_refused() -> None:
    assert control_type(Record(0, 0, bytes.fromhex("0000 0002"), b"")) == "LEADER_CHANGE"
    assert control_type(Record(0, 0, bytes.fromhex("0000 0063"), b"")) == "UNKNOWN"
    for key in (None, b"", b"\x00\x00\x00", bytes.fromhex("ffff 0001")):
        with pytest.raises(WireError) as refused:
            control_type(Record(4, 0, key, b""))
        assert refused.value.params["offset"] == 4


def test_records_are_immutable() -> None:
    (batch,) = read_batches(sample())
    with pytest.raises(dataclasses.FrozenInstanceError):
        batch.records[0].offset = 5  # type: ignore[misc]


@pytest.mark.parametrize("stamps", [(2**63 - 1, -(2**63)), (-(2**63), 2**63 - 1), (2**62, -(2**62) - 5)])
def test_timestamp_deltas_wrap_as_in_java(stamps: tuple[int, int]) -> None:
    (batch,) = read_batches(fill([(stamp, None, None) for stamp in stamps]).build())
    assert tuple(record.timestamp_ms for record in batch.records) == stamps
