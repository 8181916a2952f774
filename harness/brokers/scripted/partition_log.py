"""A partition's log: batches as stored bytes with their offsets, and the effects of appending them."""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Collection
from dataclasses import replace
from operator import attrgetter
from typing import Final, Literal, NamedTuple

from crc32c import crc32c
from kio.schema.errors import ErrorCode

from harness.brokers.scripted.filling import read_batch, without
from harness.brokers.scripted.leader_epochs import LeaderEpochs
from harness.brokers.scripted.producer_state import BatchMetadata, ProducerStateEntry, ProducerStateManager
from harness.brokers.scripted.record_scan import Found
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.topic_config import TopicConfig
from harness.brokers.scripted.transaction_index import TransactionIndex
from harness.brokers.scripted.validation import validate
from harness.model import payload
from harness.model.rows import LogRecord
from harness.wire.records import (
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    BatchHeader,
    end_transaction_marker,
    increment_sequence,
)
from harness.wire.records.encoding import int64
from harness.wire.records.model import CONTROL_TYPES, CRC_AT, CRC_COVERS_FROM, LOG_APPEND_TIME

_PLACE: Final = struct.Struct(">qii")
_ATTRIBUTES: Final = struct.Struct(">h")
_TIMESTAMP: Final = struct.Struct(">q")
_MAX_TIMESTAMP_AT: Final = 35
_INT64_MAX: Final = 2**63 - 1
_NO_TIMESTAMP: Final = -1
#: The attribute bits that have a meaning. A broker that rewrites the attributes clears the others.
_KNOWN_ATTRIBUTES: Final = 0x7F
#: The key of a control record: version and type. Types 0 and 1 abort and commit a transaction.
_CONTROL_KEY: Final = struct.Struct(">hh")
_ABORT: Final = 0
_LAST_OFFSET: Final = attrgetter("last_offset")
#: ``index.interval.bytes``.
_INDEX_INTERVAL_BYTES: Final = 4096


class StoredBatch(NamedTuple):
    """A batch in the log: its stored bytes, its header as received (with base offset 0), and its records."""

    data: bytes
    header: BatchHeader
    records: list[Found]
    base_offset: int
    last_offset: int
    appended_at_ms: int


class Appended(NamedTuple):
    """The result of an append, or of finding a duplicate. ``timestamp_ms`` is -1 under CreateTime."""

    first_offset: int
    last_offset: int
    timestamp_ms: int


class Slice(NamedTuple):
    """Bytes of a log. The last batch may be cut off. ``is_cut`` if not even the first one is whole.

    ``upper_offset`` is an offset after these bytes: the next one that Kafka's index of the segment has.
    """

    data: bytes
    is_cut: bool
    upper_offset: int


class PartitionLog:
    """One partition's log, as every in-sync replica has it."""

    def __init__(self, producer_id_expiration_ms: int) -> None:
        self.batches: list[StoredBatch] = []
        #: The batches that were deleted from the log's start, oldest first.
        self.deleted: list[StoredBatch] = []
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.high_watermark = 0
        self.producer_state = ProducerStateManager(producer_id_expiration_ms, {})
        self.epochs = LeaderEpochs()
        self.transactions = TransactionIndex()
        #: The last offsets of the batches that the offset index has, and the bytes after the last one of them.
        self._indexed: list[int] = []
        self._unindexed_bytes = 0

    @property
    def last_stable_offset(self) -> int:
        """The offset before which every transaction has ended.

        A transaction that began before the log's start holds it back to the batch at the log's start.
        """
        unstable = self.transactions.first_unstable_offset(self.high_watermark)
        if unstable is None:
            return self.high_watermark
        if unstable < self.log_start_offset:
            first = bisect_left(self.batches, self.log_start_offset, key=_LAST_OFFSET)
            in_log = first < len(self.batches)
            unstable = self.batches[first].base_offset if in_log else self.log_start_offset
        return min(self.high_watermark, unstable)

    def append(self, data: bytes, config: TopicConfig, leader_epoch: int, now_ms: int) -> Appended:
        """Validate a batch and append it unless it is a duplicate. If it raises Refused, nothing has changed."""
        header, newest_ms, records = validate(data, config, now_ms)
        if header.producer_id > NO_PRODUCER_ID:
            entry = self.producer_state.entry(header.producer_id, now_ms)
            known = entry.find_duplicate(header.producer_epoch, header.base_sequence, header.last_sequence)
            if known is not None:
                return Appended(known.first_offset, known.last_offset, known.timestamp_ms)
            self.producer_state.check_verified(header.producer_id, entry, header.base_sequence)
            entry.check(header.producer_epoch, header.base_sequence)
            if entry.in_transaction and not header.is_transactional:
                raise RequestRefused(ErrorCode.invalid_txn_state)
        if config.log_append_time:
            data, header = _stamped(data, header, header.attributes | LOG_APPEND_TIME, now_ms)
        elif newest_ms != header.max_timestamp_ms or header.attributes & LOG_APPEND_TIME:
            data, header = _stamped(data, header, header.attributes & ~LOG_APPEND_TIME, newest_ms)
        base_offset = self.log_end_offset
        last_offset = base_offset + header.last_offset_delta
        placed = _PLACE.pack(base_offset, header.length, leader_epoch) + data[_PLACE.size :]
        stored = StoredBatch(placed, header, records, base_offset, last_offset, now_ms)
        self._add(stored)
        self._note(stored)
        return Appended(base_offset, last_offset, now_ms if config.log_append_time else _NO_TIMESTAMP)

    def fill(self, data: bytes, leader_epoch: int, now_ms: int) -> Appended:
        """Append a batch without a producer's checks: transactions and their end markers too. Raises UsageError."""
        header, records = read_batch(data)
        base_offset = self.log_end_offset
        last_offset = base_offset + header.last_offset_delta
        placed = _PLACE.pack(base_offset, header.length, leader_epoch) + data[_PLACE.size :]
        stored = StoredBatch(placed, header, records, base_offset, last_offset, now_ms)
        self.epochs.assign(leader_epoch, base_offset)
        self._add(stored)
        self._note(stored)
        return Appended(base_offset, last_offset, _NO_TIMESTAMP)

    def end_transaction(
        self,
        producer: tuple[int, int],
        leader_epoch: int,
        now_ms: int,
        *,
        commits: bool,
        coordinator_epoch: int,
        version: int,
    ) -> Appended:
        """Append the end marker of a producer's transaction (WriteTxnMarkers). Raises Refused for an old epoch.

        ``version`` is the transaction version of the transaction's end.
        """
        producer_id, epoch = producer
        self.producer_state.entry(producer_id, now_ms).check_marker(epoch, version)
        kind: Literal["COMMIT", "ABORT"] = "COMMIT" if commits else "ABORT"
        marker = end_transaction_marker(kind, producer_id, epoch, now_ms, coordinator_epoch=coordinator_epoch)
        return self.fill(marker, leader_epoch, now_ms)

    def _add(self, stored: StoredBatch) -> None:
        self.batches.append(stored)
        self.log_end_offset = stored.last_offset + 1
        if self._unindexed_bytes > _INDEX_INTERVAL_BYTES:
            self._indexed.append(stored.last_offset)
            self._unindexed_bytes = 0
        self._unindexed_bytes += len(stored.data)

    def compact(self, offsets: Collection[int]) -> None:
        """Remove the records at ``offsets``, as log compaction does. The other records keep their offsets."""
        kept = []
        for batch in self.batches:
            data = without(batch.data, offsets)
            if data is batch.data:
                kept.append(batch)
            elif data is not None:
                header, records = read_batch(data)
                kept.append(batch._replace(data=data, header=replace(header, base_offset=0), records=records))
        self.batches = kept

    def read(self, offset: int, end_offset: int, max_bytes: int, *, at_least_one: bool) -> Slice:
        """Return the batches from ``offset`` up to ``end_offset`` within ``max_bytes``, as ``LogSegment#read`` does.

        With ``at_least_one``, the first batch is whole whatever its size.
        """
        first = bisect_left(self.batches, offset, key=_LAST_OFFSET)
        pieces: list[bytes] = []
        size_bytes = limit_bytes = 0
        for index in range(first, len(self.batches)):
            batch = self.batches[index]
            if batch.base_offset >= end_offset:
                break
            if index == first:
                limit_bytes = max(max_bytes, len(batch.data)) if at_least_one else max_bytes
            if size_bytes >= limit_bytes:
                break
            pieces.append(batch.data)
            size_bytes += len(batch.data)
        data = b"".join(pieces)
        upper = self._upper_offset(first + len(pieces), is_whole=limit_bytes >= size_bytes)
        return Slice(data[:limit_bytes], bool(pieces) and limit_bytes < len(pieces[0]), upper)

    def _upper_offset(self, after: int, *, is_whole: bool) -> int:
        """Return the offset that the index has for the end of what was read, up to the batch with index ``after``.

        The search never finds the index's first entry if that is exactly at the end (``AbstractIndex``).
        """
        following = bisect_left(self._indexed, self.batches[after - 1].last_offset + 1) if after else 0
        if is_whole and following == 0 and after < len(self.batches):
            following += self._indexed[:1] == [self.batches[after].last_offset]
        return self._indexed[following] if following < len(self._indexed) else self.log_end_offset

    def batch_start(self, offset: int) -> int:
        """Return the first offset of the batch that contains ``offset`` or comes next; at the end, ``offset``."""
        at = bisect_left(self.batches, offset, key=_LAST_OFFSET)
        return self.batches[at].base_offset if at < len(self.batches) else offset

    def bytes_between(self, offset: int, end_offset: int) -> int:
        """Return the size of the batches from the one that contains ``offset`` up to ``end_offset``.

        Deleted ones count, because a waiting Fetch counts what was appended since it arrived.
        """
        size_bytes = 0
        for batches in (self.deleted, self.batches):
            first = bisect_left(batches, offset, key=_LAST_OFFSET)
            size_bytes += sum(len(batch.data) for batch in batches[first:] if batch.base_offset < end_offset)
        return size_bytes

    def truncate_to(self, offset: int) -> None:
        """Remove every batch from ``offset`` on, as a replica does whose leader never had them.

        The producers' state is rebuilt from the remaining batches.
        """
        self.batches = [batch for batch in self.batches if batch.last_offset < offset]
        self.log_end_offset = min(self.log_end_offset, offset)
        self._indexed = [each for each in self._indexed if each < offset]
        self.high_watermark = min(self.high_watermark, offset)
        self.epochs.truncate_to(self.log_end_offset)
        self.transactions = TransactionIndex()
        self.producer_state = ProducerStateManager(self.producer_state.expiration_ms, {})
        for batch in self.batches:
            self._note(batch)

    def delete_records(self, before_offset: int) -> None:
        """Set the log's start to ``before_offset``, at most to the high watermark. The producers' state is kept."""
        start = min(before_offset, self.high_watermark)
        self.log_start_offset = max(self.log_start_offset, start)
        self.deleted += [batch for batch in self.batches if batch.last_offset < self.log_start_offset]
        self.batches = [batch for batch in self.batches if batch.last_offset >= self.log_start_offset]
        self.epochs.delete_before(self.log_start_offset)

    def _note(self, stored: StoredBatch) -> None:
        """Remember a stored batch's producer and its transaction."""
        header = stored.header
        if header.producer_id <= NO_PRODUCER_ID:
            return
        kind = control_kind(stored) if header.is_control else None
        self.transactions.append(header, stored.base_offset, aborts=None if kind is None else kind == _ABORT)
        entry = self.producer_state.entry(header.producer_id, stored.appended_at_ms)
        if kind is not None:
            entry.end_transaction(header.producer_epoch, stored.appended_at_ms)
            self.producer_state.end_verification(header.producer_id, header.producer_epoch)
            return
        if header.base_sequence != NO_SEQUENCE:
            _remember(entry, stored)
        if header.is_transactional:
            entry.in_transaction = True
            self.producer_state.end_verification(header.producer_id)

    def rows(self, topic: str, partition: int, *, deleted: bool = False) -> list[LogRecord]:
        """Return every record from the log's start on, in offset order. With ``deleted``, include earlier ones."""
        rows: list[LogRecord] = []
        for batch in (*self.deleted, *self.batches) if deleted else self.batches:
            rows += _rows(batch, topic, partition)
        start = 0 if deleted else self.log_start_offset
        return [row for row in rows if row.offset >= start] if start else rows


def control_kind(stored: StoredBatch) -> int:
    """Return the type of a control batch's record."""
    key = stored.records[0][2]
    return -1 if key is None or len(key) < _CONTROL_KEY.size else int(_CONTROL_KEY.unpack_from(key)[1])


def _remember(entry: ProducerStateEntry, stored: StoredBatch) -> None:
    header = stored.header
    metadata = BatchMetadata(
        header.base_sequence,
        header.last_sequence,
        stored.base_offset,
        stored.last_offset,
        header.max_timestamp_ms,
    )
    entry.add(header.producer_epoch, metadata, stored.appended_at_ms)


def _stamped(
    data: bytes, header: BatchHeader, attributes: int, max_timestamp_ms: int
) -> tuple[bytes, BatchHeader]:
    """Return the batch with the broker's attributes and maximum timestamp, and a recomputed CRC."""
    attributes &= _KNOWN_ATTRIBUTES
    batch = bytearray(data)
    _ATTRIBUTES.pack_into(batch, CRC_COVERS_FROM, attributes)
    _TIMESTAMP.pack_into(batch, _MAX_TIMESTAMP_AT, max_timestamp_ms)
    crc = crc32c(memoryview(batch)[CRC_COVERS_FROM:])
    batch[CRC_AT:CRC_COVERS_FROM] = crc.to_bytes(4, "big")
    return bytes(batch), replace(header, crc=crc, attributes=attributes, max_timestamp_ms=max_timestamp_ms)


def _rows(batch: StoredBatch, topic: str, partition: int) -> list[LogRecord]:
    header, base_offset = batch.header, batch.base_offset
    producer_id, epoch, crc = header.producer_id, header.producer_epoch, header.crc
    sequence, base_ms = header.base_sequence, header.base_timestamp_ms
    append_time_ms = header.max_timestamp_ms if header.attributes & LOG_APPEND_TIME else None
    is_control = header.is_control
    rows = []
    for index, delta_ms, key, value, headers in batch.records:
        timestamp_ms = base_ms + delta_ms if append_time_ms is None else append_time_ms
        text, value_bytes = (None, None) if is_control else payload.kept(value)
        name = CONTROL_TYPES.get(control_kind(batch), "UNKNOWN") if is_control else None
        rows.append(
            LogRecord(
                topic,
                partition,
                base_offset + index,
                base_offset,
                timestamp_ms if -_INT64_MAX <= timestamp_ms <= _INT64_MAX else int64(timestamp_ms),
                producer_id,
                epoch,
                NO_SEQUENCE if sequence == NO_SEQUENCE else increment_sequence(sequence, index),
                is_control,
                True,  # crc_ok
                name if is_control or key is None else key.decode(errors="backslashreplace"),
                text,
                crc,
                header.compression,
                headers,
                value_bytes,
            )
        )
    return rows
