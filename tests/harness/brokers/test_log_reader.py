from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.brokers.admin import Admin
from harness.brokers.connection import NotYet
from harness.brokers.log_reader import log_records, read_log
from harness.model.errors import KafkaTrialError
from harness.wire.records import BatchBuilder, Codec, assign_offset, end_transaction_marker, read_batches
from testkit.codes import coded, raises_code

contents = st.none() | st.binary(max_size=20)
batches_of_records = st.lists(st.lists(st.tuples(contents, contents), min_size=1, max_size=4), max_size=8)


def build(records: list[tuple[bytes | None, bytes | None]], base_offset: int, **producer: int) -> bytes:
    builder = BatchBuilder(Codec.NONE)
    for key, value in records:
        builder.append(1_000, key, value)
    return builder.build(base_offset=base_offset, **producer)


class Log:
    """An Admin for ``read_log``, with one partition in memory; it is replicated after ``lag`` fetches."""

    def __init__(self, batches: list[bytes], start: int, per_fetch: int, lag: int = 0) -> None:
        self._headers = [next(read_batches(batch)).header for batch in batches]
        self.batches, self._start, self._per_fetch, self._lag = batches, start, per_fetch, lag
        self.end = self._headers[-1].last_offset + 1 if batches else start

    async def partitions(self, _topic: str) -> list[int]:
        return [0]

    async def list_offsets(self, _topic: str, _partition: int, _timestamp: int) -> int:
        return self._start

    async def log_end(self, _topic: str, _partition: int) -> int:
        return self.end

    async def fetch(self, _topic: str, _partition: int, offset: int) -> Any:
        if self._lag:
            self._lag -= 1
            return SimpleNamespace(records=b"", high_watermark=offset)
        wanted = [b for b, h in zip(self.batches, self._headers, strict=True) if h.last_offset >= offset]
        cut = wanted[self._per_fetch][:-1] if len(wanted) > self._per_fetch else b""
        return SimpleNamespace(records=b"".join(wanted[: self._per_fetch]) + cut, high_watermark=self.end)


def read(log: Log, **limits: float) -> list[Any]:
    return asyncio.run(read_log(cast(Admin, log), "t", **limits))


@given(batches_of_records, st.integers(1, 3), st.integers(0, 2), st.integers(0, 3))
def test_each_record_is_read_once_and_in_order(
    written: list[list[tuple[bytes | None, bytes | None]]], per_fetch: int, lag: int, deleted: int
) -> None:
    batches, offset = [], 0
    for records in written:
        batches.append(build(records, offset))
        offset += len(records)
    start = min(deleted, offset)  # DeleteRecords can move the start into the middle of a batch
    rows = read(Log(batches, start, per_fetch, lag if start < offset else 0))
    assert [row.offset for row in rows] == list(range(start, offset))
    flat = [record for records in written for record in records][start:]
    assert [(row.key, row.value) for row in rows] == [
        tuple(None if part is None else part.decode(errors="backslashreplace") for part in record)
        for record in flat
    ]


def test_offsets_removed_by_compaction_are_skipped() -> None:
    log = Log([build([(b"k", b"v")], 0), build([(b"k", b"w")], 10)], start=0, per_fetch=1)
    assert [row.offset for row in read(log)] == [0, 10]


def test_a_log_that_shrinks_while_it_is_read_is_an_error() -> None:
    log = Log([build([(None, b"v")] * 3, 0)], start=0, per_fetch=1)

    async def shrinking(_topic: str, _partition: int) -> int:
        log.end -= 1
        return log.end + 1

    log.log_end = shrinking  # type: ignore[method-assign]
    with raises_code(KafkaTrialError, "log-shrank", topic="t", partition=0, end=2, offset=3):
        read(log)


def test_a_log_without_valid_batches_is_an_error() -> None:
    log = Log([build([(None, b"v")], 0)], start=0, per_fetch=1)
    log.batches = [b"\x00" * 80]
    with raises_code(
        KafkaTrialError,
        "log-unreadable",
        topic="t",
        partition=0,
        offset=0,
        why=coded("batch-format", at=0, magic=0),
    ):
        read(log)


def one(batch: bytes) -> list[Any]:
    return log_records("t", 4, next(read_batches(batch)))


def test_a_row_has_all_fields_of_its_batch() -> None:
    [row, _] = one(build([(b"k", b"v"), (None, None)], 40, producer_id=9, producer_epoch=2, base_sequence=5))
    assert (row.topic, row.partition, row.offset, row.base_offset, row.timestamp_ms) == (
        "t",
        4,
        40,
        40,
        1_000,
    )
    assert (row.producer_id, row.producer_epoch, row.sequence) == (9, 2, 5)
    assert (row.control, row.crc_ok, row.key, row.value) == (False, True, "k", "v")
    assert row.batch_crc is not None


@given(st.integers(0, 2**31 - 1), st.integers(1, 5))
def test_sequences_wrap_around_after_the_highest(base: int, count: int) -> None:
    rows = one(build([(None, b"")] * count, 0, producer_id=1, producer_epoch=0, base_sequence=base))
    assert [row.sequence for row in rows] == [(base + n) % 2**31 for n in range(count)]


def test_records_without_a_producer_have_no_sequence() -> None:
    assert {row.sequence for row in one(build([(None, b"")] * 3, 0))} == {-1}


def test_invalid_utf_8_is_escaped_and_null_is_not_empty() -> None:
    rows = one(build([(b"\xff\xfe", "é".encode()), (b"", None)], 0))
    assert [(row.key, row.value) for row in rows] == [("\\xff\\xfe", "é"), ("", None)]


@pytest.mark.parametrize("commit", [True, False])
def test_a_control_record_is_a_row_with_its_type_and_no_value(commit: bool) -> None:
    marker = end_transaction_marker("COMMIT" if commit else "ABORT", 9, 2, 1_000)
    [row] = one(assign_offset(marker, 3))
    assert (row.control, row.key, row.value, row.sequence) == (
        True,
        "COMMIT" if commit else "ABORT",
        None,
        -1,
    )


def test_a_batch_with_a_wrong_crc_is_one_row_without_contents() -> None:
    batch = bytearray(build([(b"k", b"value")] * 3, 12))
    batch[-3] ^= 0x40
    [row] = one(bytes(batch))
    assert (row.offset, row.crc_ok, row.key, row.value) == (12, False, None, None)


def test_reading_continues_after_a_batch_with_a_wrong_crc() -> None:
    batch = bytearray(build([(b"k", b"value")] * 3, 0))
    batch[-3] ^= 0x40
    rows = read(Log([bytes(batch), build([(None, b"after")], 3)], start=0, per_fetch=1))
    assert [(row.offset, row.crc_ok, row.value) for row in rows] == [(0, False, None), (3, True, "after")]


def test_waiting_for_replication_has_a_deadline() -> None:
    log = Log([build([(None, b"v")], 0)], start=0, per_fetch=1, lag=10**9)
    with raises_code(KafkaTrialError, "deadline-passed", why="its high watermark is 0, its end 1") as raised:
        read(log, timeout_s=0.05)
    assert not isinstance(raised.value, NotYet)
