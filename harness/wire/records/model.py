"""The values: a record, a batch's header, a batch, and the arithmetic of sequences and control records."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final, Literal

from harness.wire.errors import WireError
from harness.wire.records.codecs import Codec

#: The header as one structure; see the package's docstring for the fields.
HEADER: Final = struct.Struct(">qiibIhiqqqhii")
BATCH_OVERHEAD_BYTES: Final = HEADER.size
#: The length field counts what follows it; base offset and length themselves are these bytes.
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
#: ``org.apache.kafka.common.record.ControlRecordType``; what lies beyond the first two is KRaft's own.
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
    """One record. A null key, value or header value (None) is not the same as an empty one (b"")."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class BatchHeader:
    """A batch's header, field by field, with what follows from the fields."""

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
        """The codec as ``compression.type`` names it, or its number where no codec has it."""
        number = self.attributes & CODEC_MASK
        return _CODEC_NAMES.get(number, str(number))

    @property
    def codec(self) -> Codec:
        """Raises :class:`WireError` for a codec that does not exist."""
        try:
            return Codec(self.attributes & CODEC_MASK)
        except ValueError:
            raise WireError(f"no compression codec has the number {self.attributes & CODEC_MASK}") from None

    @property
    def is_transactional(self) -> bool:
        """Belongs to a transaction, its marker included (KIP-98)."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Holds a control record, which is no application's."""
        return bool(self.attributes & CONTROL)

    @property
    def timestamp_type(self) -> Literal["CreateTime", "LogAppendTime"]:
        """Whose clock the timestamps are: the producer's, or the broker's at append."""
        return "LogAppendTime" if self.attributes & LOG_APPEND_TIME else "CreateTime"

    @property
    def last_offset(self) -> int:
        """The offset of the last record that the batch was made with; compaction may have removed it since."""
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """The last record's sequence, or NO_SEQUENCE for a batch without."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def size_bytes(self) -> int:
        """The whole batch, header and all."""
        return LENGTH_EXCLUDES_BYTES + self.length


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """A batch as read. Where ``crc_ok`` is False nothing in it is to be believed, and ``records`` is empty."""

    header: BatchHeader
    records: tuple[Record, ...]
    crc_ok: bool


def increment_sequence(sequence: int, increment: int) -> int:
    """The sequence ``increment`` records later (earlier, if negative): after 2147483647 comes 0 (PRD-IDM-02)."""
    return (sequence + increment) % (1 << 31)


def control_type(record: Record) -> str:
    """What a control batch's record says, e.g. ``COMMIT`` or ``ABORT``; ``UNKNOWN`` for a type of the future.

    Raises :class:`WireError` for a key that is none of a control record.
    """
    if record.key is None or len(record.key) < _CONTROL_KEY.size:
        raise WireError(f"the control record at offset {record.offset} has no control record's key")
    version, number = _CONTROL_KEY.unpack_from(record.key)
    if version < 0:
        raise WireError(f"the control record at offset {record.offset} has the version {version}")
    return CONTROL_TYPES.get(number, "UNKNOWN")


def control_key(number: int) -> bytes:
    """The key of a control record of this type."""
    return _CONTROL_KEY.pack(0, number)
