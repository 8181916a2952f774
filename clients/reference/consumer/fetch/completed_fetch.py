"""CompletedFetch: one partition of one response, read a few records at a time.

Nothing is decompressed or decoded before the application wants it, so the memory is that of the response and of one
batch. Each call decodes at most as many records as it returns.

The position after the records moves over everything that is not for the application: control batches, records of
aborted transactions, and offsets that compaction removed (CSM-FET-04, -05). An error is raised only when no record
before it is left, and the position stays at it (CSM-FET-09).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from clients.reference.consumer.calls import Call, invoke
from clients.reference.consumer.consumer_record import ConsumerRecord
from clients.reference.consumer.deserializers import Deserializers
from clients.reference.consumer.errors import CorruptRecordError
from clients.reference.consumer.fetch.fetch_request import FetchSettings
from clients.reference.consumer.fetch.fetch_response import FetchedPartition
from clients.reference.metadata.topic_metadata import NO_EPOCH, TopicPartition
from harness.wire.errors import WireError
from harness.wire.records import (
    NO_PRODUCER_ID,
    BatchHeader,
    UnreadBatch,
    control_type,
    record_loop,
    unread_batches,
)
from harness.wire.records.decoding import left_over, read_records
from harness.wire.records.encoding import read_varint
from harness.wire.source import Source


def _write_consumer_record(source: Source) -> str:
    """Write the call in the order of ConsumerRecord's fields, which is faster than by name."""
    kind = source.constant("kind", ConsumerRecord)
    return (
        f"{kind}(topic, partition, base_offset + index, timestamp_ms, timestamp_type, key, value, headers, "
        "leader_epoch, key_size, value_size)"
    )


_read_records: Final = record_loop(
    _write_consumer_record, "topic", "partition", "timestamp_type", "leader_epoch"
)


_NOTHING: Final = FetchedPartition()


class _Reading:
    """A batch that is being decoded: its bytes, decompressed, and how far it was read."""

    __slots__ = ("_arguments", "_at", "_data", "_left", "header")

    def __init__(self, batch: UnreadBatch, partition: TopicPartition) -> None:
        header = self.header = batch.header
        self._data = batch.plain()
        self._left = header.record_count
        if self._left < 0:
            raise WireError("record-count", "the batch claims {count:record}", count=self._left)
        append_time_ms = header.max_timestamp_ms if header.timestamp_type == "LogAppendTime" else None
        self._arguments = (
            header.base_offset,
            header.base_timestamp_ms,
            append_time_ms,
            *partition,
            header.timestamp_type,
            leader_epoch_of(header),
        )
        self._at = 0

    def read(self, most: int, into: list[ConsumerRecord]) -> bool:
        """Append at most that many records. Return whether that was the end. Raise WireError at an invalid record."""
        count = min(most, self._left)
        self._at = _read_records(self._data, self._at, count, into, *self._arguments)
        self._left -= count
        if self._left:
            return False
        if self._at != len(self._data):
            raise left_over(len(self._data) - self._at, self.header)
        return True

    @property
    def at(self) -> int:
        """How many bytes of the batch's records were read."""
        return self._at

    def size_bytes(self, at: int, count: int) -> int:
        """Return the size of ``count`` records that begin ``at`` there."""
        began = at
        for _ in range(count):
            body_bytes, at = read_varint(self._data, at)
            at += body_bytes
        return at - began


def leader_epoch_of(header: BatchHeader) -> int | None:
    """Return the epoch of the leader that appended the batch, or None if it has none."""
    epoch = header.partition_leader_epoch
    return None if epoch == NO_EPOCH else epoch


class CompletedFetch:
    """A partition's data, from a Fetch response to the last record that the application takes.

    ``next_fetch_offset`` is the offset at which the application continues, ``last_epoch`` the leader epoch of the batch
    before it. ``records_read`` counts what was returned so far, and ``bytes_read`` what was decoded for it. ``on_end``
    is called once, when nothing is left.
    """

    def __init__(
        self, partition: TopicPartition, data: FetchedPartition, fetch_offset: int, settings: FetchSettings
    ) -> None:
        self.partition, self.data = partition, data
        self.next_fetch_offset = fetch_offset
        self.last_epoch: int | None = None
        self.is_initialized = False
        self.records_read = self.bytes_read = 0
        self.on_end: Callable[[CompletedFetch], None] | None = None
        self._settings = settings
        self._batches: Iterator[UnreadBatch] = unread_batches(data.records)
        self._found_batch = False
        self._reading: _Reading | None = None
        self._read_offset = fetch_offset  # how far it was read ahead
        self._read_epoch: int | None = None
        self._aborted = sorted(data.aborted, key=lambda each: each[1], reverse=True)
        self._aborted_producers: set[int] = set()
        self._is_read = False
        self._pending: list[ConsumerRecord] = []  # read, but not deserialized
        self._error: CorruptRecordError | None = None

    @property
    def is_consumed(self) -> bool:
        """Whether nothing is left, not even an error."""
        return self._is_read and not self._pending

    def drain(self) -> None:
        """Drop what is left, and the memory of the response. Nothing more is returned."""
        self._release()
        self._tell_end()

    def _release(self) -> None:
        self._is_read = True
        self.data = _NOTHING
        self._batches, self._reading, self._pending, self._error = iter(()), None, [], None

    def _tell_end(self) -> None:
        tell, self.on_end = self.on_end, None
        if tell is not None:
            tell(self)

    def fetch_records(self, deserializers: Deserializers, most: int) -> Call[list[ConsumerRecord]]:
        """Return the next records, at most ``most``, and move ``next_fetch_offset`` over them.

        Raise CorruptRecordError or RecordDeserializationError if the next record cannot be returned. The latter is
        tried again by the next call, the former is final.
        """
        records = self._pending[:most] or self._take(most)
        if deserializers and records:
            self._pending = (
                self._pending or records
            )  # so nothing is consumed while the application's code runs
            done, error = yield from invoke(partial(deserializers.apply, records))
            records, self._pending = records[:done], self._pending[done:]
            if error is not None and not records:
                raise error
        self.records_read += len(records)
        if self._pending:
            self.next_fetch_offset, self.last_epoch = records[-1].offset + 1, records[-1].leader_epoch
        else:
            self.next_fetch_offset, self.last_epoch = self._read_offset, self._read_epoch
        if self.is_consumed:
            self._tell_end()
        return records

    def _take(self, most: int) -> list[ConsumerRecord]:
        """Return the next records as bytes. An error waits for the next call if the position moves now."""
        records: list[ConsumerRecord] = []
        try:
            while len(records) < most and not self._is_read and self._error is None:
                if self._reading is not None:
                    self._read(self._reading, most, records)
                elif batch := next(self._batches, None):
                    self._begin(batch)
                else:
                    self._end()
        except WireError as error:
            self._error = CorruptRecordError(self.partition, self._read_offset, error)
        if self._error is not None and self._read_offset == self.next_fetch_offset:
            raise self._error
        return records

    def _end(self) -> None:
        if self.data.records and not self._found_batch:
            raise WireError("no-whole-batch", "the response has data, but no complete batch")
        self._release()

    def _read(self, reading: _Reading, most: int, records: list[ConsumerRecord]) -> None:
        """Append records of the present batch, without those before the offset that was asked for."""
        chunk: list[ConsumerRecord] = []
        began = reading.at
        try:
            if reading.read(most - len(records), chunk):
                self._reading = None
        finally:
            # A batch with an invalid record does not say how far it was read.
            size_bytes = (reading.at - began) or reading.size_bytes(began, len(chunk))
            if chunk and chunk[0].offset < self._read_offset:
                wanted = [record for record in chunk if record.offset >= self._read_offset]
                size_bytes -= reading.size_bytes(began, len(chunk) - len(wanted))
                chunk = wanted
            self.bytes_read += size_bytes
            if chunk:
                records += chunk
                self._advance(chunk[-1].offset + 1, chunk[-1].leader_epoch)
        if self._reading is None:
            self._skip(reading.header)

    # Batches

    def _begin(self, batch: UnreadBatch) -> None:
        """Check a batch. It is skipped, or becomes the one that is read."""
        self._found_batch = True
        header, read_committed = batch.header, self._settings.read_committed
        if self._settings.check_crcs and not batch.crc_matches():
            raise WireError(
                "batch-crc", "the CRC of the batch at {offset} is wrong", offset=header.base_offset
            )
        if read_committed and header.producer_id != NO_PRODUCER_ID:
            self._begin_aborted(header.last_offset)
        if header.is_control:
            if read_committed and _ends_aborted(batch):
                self._aborted_producers.discard(header.producer_id)
            self._skip(header)
        elif header.is_transactional and header.producer_id in self._aborted_producers:
            self._skip(header)
        else:
            self._reading = _Reading(batch, self.partition)

    def _begin_aborted(self, last_offset: int) -> None:
        """Note the aborted transactions that begin up to an offset (CSM-FET-05).

        The response lists them by producer and first offset. Each lasts until its marker, so a marker whose transaction
        is not listed changes nothing.
        """
        while self._aborted and self._aborted[-1][1] <= last_offset:
            self._aborted_producers.add(self._aborted.pop()[0])

    def _skip(self, header: BatchHeader) -> None:
        """Move to the end of a batch, which compaction preserves when it removes the last records."""
        self._advance(header.last_offset + 1, leader_epoch_of(header))

    def _advance(self, offset: int, epoch: int | None) -> None:
        """Move on, and never back, whatever a batch claims."""
        if offset > self._read_offset:
            self._read_offset, self._read_epoch = offset, epoch


def _ends_aborted(batch: UnreadBatch) -> bool:
    """Return whether a control batch is the marker of an aborted transaction."""
    records = read_records(batch.plain(), batch.header)
    return bool(records) and control_type(records[0]) == "ABORT"
