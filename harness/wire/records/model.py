"""The values: records, batch headers and batches. Also the arithmetic of sequences, and control record types."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, Literal

from harness.wire.errors import WireError
from harness.wire.records.codecs import Codec

#: The layout of the header. The package's docstring lists the fields.
HEADER: Final = struct.Struct(">qiibIhiqqqhii")
BATCH_OVERHEAD_BYTES: Final = HEADER.size
#: The length field counts the bytes after it. It excludes the base offset and itself, which are these bytes.
LENGTH_EXCLUDES_BYTES: Final = 12
CRC_AT: Final = 17
CRC_COVERS_FROM: Final = 21
PRODUCER_AT: Final = 43
MAGIC: Final = 2

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20

_CODEC_NAMES: Final = {codec.value: codec.name.lower() for codec in Codec}

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1

_CONTROL_KEY: Final = struct.Struct(">hh")
#: ``org.apache.kafka.common.record.ControlRecordType``. All types after the first two belong to KRaft.
CONTROL_TYPES: Final = {
    0: "ABORT",
    1: "COMMIT",
    2: "LEADER_CHANGE",
    3: "SNAPSHOT_HEADER",
    4: "SNAPSHOT_FOOTER",
    5: "KRAFT_VERSION",
    6: "KRAFT_VOTERS",
}


@dataclass(frozen=True, slots=True)
class Record:
    """One record. A null key, value or header value (None) differs from an empty one (b"")."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class BatchHeader:
    """The fields of a batch's header, and the properties derived from them."""

    base_offset: int
    length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def compression(self) -> str:
        """The codec's name as in ``compression.type``, or its number if no such codec exists."""
        number = self.attributes & CODEC_MASK
        return _CODEC_NAMES.get(number, str(number))

    @property
    def codec(self) -> Codec:
        """The codec. Raises :class:`WireError` for a codec that does not exist."""
        try:
            return Codec(self.attributes & CODEC_MASK)
        except ValueError:
            raise WireError(
                "unknown-codec",
                "no compression codec has the number {number}",
                number=self.attributes & CODEC_MASK,
            ) from None

    @property
    def is_transactional(self) -> bool:
        """True if the batch belongs to a transaction (KIP-98). This includes the transaction's end marker."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """True if the batch contains a control record instead of application records."""
        return bool(self.attributes & CONTROL)

    @property
    def timestamp_type(self) -> Literal["CreateTime", "LogAppendTime"]:
        """The source of the timestamps: the producer (CreateTime), or the broker at append (LogAppendTime)."""
        return "LogAppendTime" if self.attributes & LOG_APPEND_TIME else "CreateTime"

    @property
    def last_offset(self) -> int:
        """The offset of the last record that the batch was written with. Compaction may have removed that record."""
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record, or NO_SEQUENCE for a batch without sequences."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def size_bytes(self) -> int:
        """The size of the whole batch, including its header."""
        return LENGTH_EXCLUDES_BYTES + self.length


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """A decoded batch. If ``crc_ok`` is False, the header cannot be trusted and ``records`` is empty."""

    header: BatchHeader
    records: tuple[Record, ...]
    crc_ok: bool


def increment_sequence(sequence: int, increment: int) -> int:
    """Return the sequence ``increment`` records later (or earlier, if negative).

    The sequence after 2147483647 is 0 (PRD-IDM-02).
    """
    return (sequence + increment) % (1 << 31)


def control_type(record: Record) -> str:
    """Return the type of a control record, e.g. ``COMMIT`` or ``ABORT``, or ``UNKNOWN`` for a newer type.

    Raises :class:`WireError` if the record's key is not a control record's key.
    """
    if record.key is None or len(record.key) < _CONTROL_KEY.size:
        raise WireError(
            "control-record-key",
            "the control record at offset {offset} has no control record's key",
            offset=record.offset,
        )
    version, number = _CONTROL_KEY.unpack_from(record.key)
    if version < 0:
        raise WireError(
            "control-record-version",
            "the control record at offset {offset} has the version {version}",
            offset=record.offset,
            version=version,
        )
    return CONTROL_TYPES.get(number, "UNKNOWN")


def control_key(number: int) -> bytes:
    """Return the key of a control record of this type."""
    return _CONTROL_KEY.pack(0, number)
