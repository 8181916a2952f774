"""Write batches: records are encoded as they are added, and the header when the batch is built.

A retry must send exactly the bytes of the first attempt (PRD-IDM-03), so a built batch is an immutable value. Only two
functions make legitimate changes to it: :func:`restamp` (by the producer, on an epoch bump) and :func:`assign_offset`
(by the broker, on append).
"""

from __future__ import annotations

import struct
from typing import Final, Literal

from crc32c import crc32c

from harness.wire.errors import WireError
from harness.wire.records import model
from harness.wire.records.codecs import Codec, compress
from harness.wire.records.encoding import (
    NULL_AND_SHORT,
    SHORT,
    SHORT_AND_PLAIN,
    Headers,
    record_parts,
    write_record,
    write_varint,
)
from harness.wire.records.model import (
    BATCH_OVERHEAD_BYTES,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
)

#: The header up to and including the CRC, and the part of the header that the CRC covers.
_UNCOVERED: Final = struct.Struct(">qiibI")
_COVERED: Final = struct.Struct(">hiqqqhii")
_PRODUCER: Final = struct.Struct(">qhi")
_END_MARKER_VALUE: Final = struct.Struct(">hi")


class BatchBuilder:
    """Collects records for one batch.

    The records' timestamps are encoded relative to ``base_timestamp_ms``, which defaults to the first record's
    timestamp. ``level`` is the compression level (see :func:`~harness.wire.records.codecs.compress`), with None for the
    codec's default.
    """

    def __init__(
        self, codec: Codec = Codec.NONE, base_timestamp_ms: int | None = None, level: int | None = None
    ) -> None:
        self.codec = codec
        self.level = level
        self.record_count = 0
        #: The records' size before compression, and the encoded pieces, which are joined once, in :meth:`build`.
        self.records_bytes = 0
        self._parts: list[bytes] = []
        self._base_timestamp_ms = base_timestamp_ms
        self._max_timestamp_ms = 0
        self._newest_ms: int | None = None
        self._delta_ms = 0
        self._delta = b""

    @property
    def size_bytes(self) -> int:
        """The size of the batch before compression."""
        return BATCH_OVERHEAD_BYTES + self.records_bytes

    def append(self, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers = ()) -> int:
        """Add a record and return its index in the batch."""
        if timestamp_ms != self._newest_ms:
            self._stamp(timestamp_ms)
        index = self.record_count
        if key is None and type(value) is bytes and not headers:
            # The common case, inlined for speed: it does the same as the code below.
            try:
                delta, number = self._delta, SHORT[index]
                size = len(value)
                value_size = NULL_AND_SHORT[size]
                length = size + len(delta) + len(number) + len(value_size) + 2
                head = SHORT_AND_PLAIN[length]
                self._parts += (head, delta, number, value_size, value, b"\0")
                self.records_bytes += len(head) - 1 + length  # both count the attributes byte
                self.record_count = index + 1
                return index
            except IndexError:
                pass
        parts = record_parts(self._delta_ms, index, _fixed(key), _fixed(value), headers)
        self._parts += parts
        self.records_bytes += sum(map(len, parts))
        self.record_count = index + 1
        return index

    def _stamp(self, timestamp_ms: int) -> None:
        """Recompute the timestamp delta for a record whose timestamp differs from the previous record's."""
        if self._base_timestamp_ms is None:
            self._base_timestamp_ms = timestamp_ms
        if not self.record_count or timestamp_ms > self._max_timestamp_ms:
            self._max_timestamp_ms = timestamp_ms
        self._newest_ms = timestamp_ms
        self._delta_ms = timestamp_ms - self._base_timestamp_ms
        self._delta = write_varint(self._delta_ms)

    def build(
        self,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        base_offset: int = 0,
        partition_leader_epoch: int = -1,
        transactional: bool = False,
    ) -> bytes:
        """Encode the batch. Raises :class:`WireError` if it has no records, or if a field is out of its range."""
        if self._base_timestamp_ms is None or not self._parts:
            raise WireError("batch-empty", "a batch needs a record")
        payload = b"".join(self._parts)
        if self.codec is not Codec.NONE:
            payload = compress(self.codec, payload, self.level)
        return _assemble(
            payload=payload,
            base_offset=base_offset,
            partition_leader_epoch=partition_leader_epoch,
            attributes=self.codec | (model.TRANSACTIONAL if transactional else 0),
            timestamps_ms=(self._base_timestamp_ms, self._max_timestamp_ms),
            producer=(producer_id, producer_epoch, base_sequence),
            record_count=self.record_count,
        )


def _assemble(
    *,
    payload: bytes,
    base_offset: int,
    partition_leader_epoch: int,
    attributes: int,
    timestamps_ms: tuple[int, int],
    producer: tuple[int, int, int],
    record_count: int,
) -> bytes:
    length = BATCH_OVERHEAD_BYTES - model.LENGTH_EXCLUDES_BYTES + len(payload)
    try:
        covered = _COVERED.pack(attributes, record_count - 1, *timestamps_ms, *producer, record_count)
        crc = crc32c(payload, crc32c(covered))
        uncovered = _UNCOVERED.pack(base_offset, length, partition_leader_epoch, model.MAGIC, crc)
        return b"".join((uncovered, covered, payload))
    except struct.error as error:
        raise WireError(
            "batch-field-range", "a field of the batch is out of its range: {why}", why=error
        ) from error


def _fixed(content: bytes | None) -> bytes | None:
    """Copy mutable content, which its owner could change before the batch is built."""
    return content if content is None or type(content) is bytes else bytes(content)


def _header_of(batch: bytes) -> bytearray:
    """Return a mutable copy of the header, after a check that ``batch`` is exactly one whole batch."""
    if len(batch) < BATCH_OVERHEAD_BYTES or batch[model.CRC_AT - 1] != model.MAGIC:
        raise WireError("not-a-batch", "these bytes are not a batch of format 2")
    length = int.from_bytes(batch[8 : model.LENGTH_EXCLUDES_BYTES], "big", signed=True)
    if model.LENGTH_EXCLUDES_BYTES + length != len(batch):
        raise WireError(
            "not-one-batch",
            "these {count} bytes are not one batch, which would have {length}",
            count=len(batch),
            length=length + 12,
        )
    return bytearray(batch[:BATCH_OVERHEAD_BYTES])


def _with_records(header: bytearray, batch: bytes) -> bytes:
    """Return the batch with another header. The records, which may be large, are copied once."""
    return b"".join((header, memoryview(batch)[BATCH_OVERHEAD_BYTES:]))


def restamp(batch: bytes, producer_id: int, producer_epoch: int, base_sequence: int) -> bytes:
    """Return the batch with another producer id, epoch and base sequence, and a recomputed CRC.

    This is the only change to a built batch that a producer may make, on an epoch bump (KIP-360, PRD-IDM-09).
    """
    header = _header_of(batch)
    try:
        _PRODUCER.pack_into(header, model.PRODUCER_AT, producer_id, producer_epoch, base_sequence)
    except struct.error as error:
        raise WireError(
            "batch-field-range", "a field of the batch is out of its range: {why}", why=error
        ) from error
    crc = crc32c(memoryview(batch)[BATCH_OVERHEAD_BYTES:], crc32c(header[model.CRC_COVERS_FROM :]))
    header[model.CRC_AT : model.CRC_COVERS_FROM] = crc.to_bytes(4, "big")
    return _with_records(header, batch)


def assign_offset(batch: bytes, base_offset: int, partition_leader_epoch: int = -1) -> bytes:
    """Return the batch as a broker appends it. The CRC stays valid, as it covers neither offset nor leader epoch."""
    header = _header_of(batch)
    try:
        struct.pack_into(">q", header, 0, base_offset)
        struct.pack_into(">i", header, model.LENGTH_EXCLUDES_BYTES, partition_leader_epoch)
    except struct.error as error:
        raise WireError(
            "batch-field-range", "a field of the batch is out of its range: {why}", why=error
        ) from error
    return _with_records(header, batch)


def end_transaction_marker(
    kind: Literal["COMMIT", "ABORT"],
    producer_id: int,
    producer_epoch: int,
    timestamp_ms: int,
    *,
    coordinator_epoch: int = 0,
    base_offset: int = 0,
    partition_leader_epoch: int = -1,
) -> bytes:
    """Return the control batch with which a broker ends a transaction in a partition (KIP-98)."""
    number = 1 if kind == "COMMIT" else 0
    value = _END_MARKER_VALUE.pack(0, coordinator_epoch)
    return _assemble(
        payload=write_record(0, 0, model.control_key(number), value, ()),
        base_offset=base_offset,
        partition_leader_epoch=partition_leader_epoch,
        attributes=model.TRANSACTIONAL | model.CONTROL,
        timestamps_ms=(timestamp_ms, timestamp_ms),
        producer=(producer_id, producer_epoch, NO_SEQUENCE),
        record_count=1,
    )
