"""Encode a batch, valid or invalid according to its spec. Both sides get the same bytes, except for the producer id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from crc32c import crc32c

from harness.wire.records import Codec
from harness.wire.records.codecs import compress
from harness.wire.records.encoding import write_record, write_varint
from harness.wire.records.model import (
    BATCH_OVERHEAD_BYTES,
    CONTROL,
    CRC_AT,
    CRC_COVERS_FROM,
    HEADER,
    LENGTH_EXCLUDES_BYTES,
    LOG_APPEND_TIME,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL,
)
from testkit.fidelity.steps import BatchSpec, Defect

_DAY_MS: Final = 86_400_000
_NO_TIMESTAMP: Final = -1
_DELETE_HORIZON, _UNUSED_BIT = 0x40, 0x80
_Fields = dict[str, Any]

_RECORDS: Final[Mapping[Defect, Callable[[list[bytes]], list[bytes]]]] = {
    Defect.NONSENSE: lambda records: [bytes(200 + at % 56 for at in range(7 * len(records)))],
    Defect.NONSENSE_INSIDE: lambda records: [*records[:-1], _sized(b"\xff" * 20)],
    Defect.RECORD_TOO_SHORT: lambda records: [*records[:-1], _sized(_inside(records[-1])[:-3])],
    Defect.RECORD_TOO_LONG: lambda records: [*records[:-1], _sized(_inside(records[-1]) + b"\0\0")],
    Defect.HEADER_ONLY: lambda records: [],
}
_HEADERS: Final[Mapping[Defect, Callable[[_Fields], _Fields]]] = {
    Defect.MAGIC_0: lambda f: {"magic": 0},
    Defect.MAGIC_1: lambda f: {"magic": 1},
    Defect.MAGIC_3: lambda f: {"magic": 3},
    Defect.SHORT_LENGTH: lambda f: {"length": 45},
    Defect.TINY_LENGTH: lambda f: {"length": 3},
    Defect.NEGATIVE_LENGTH: lambda f: {"length": -1},
    Defect.BASE_OFFSET: lambda f: {"base_offset": 7},
    Defect.HEADER_ONLY: lambda f: {"record_count": 0, "last_offset_delta": -1},
    Defect.COUNT_TOO_LARGE: lambda f: {
        "record_count": f["record_count"] + 1,
        "last_offset_delta": f["last_offset_delta"] + 1,
    },
    Defect.COUNT_TOO_SMALL: lambda f: {
        "record_count": f["record_count"] - 1,
        "last_offset_delta": f["last_offset_delta"] - 1,
    },
    Defect.NEGATIVE_COUNT: lambda f: {"record_count": -1},
    Defect.DELTA_TOO_LARGE: lambda f: {"last_offset_delta": f["last_offset_delta"] + 1},
    Defect.CONTROL: lambda f: {"attributes": f["attributes"] | CONTROL},
    Defect.LOG_APPEND_TIME: lambda f: {"attributes": f["attributes"] | LOG_APPEND_TIME},
    Defect.DELETE_HORIZON: lambda f: {"attributes": f["attributes"] | _DELETE_HORIZON},
    Defect.UNUSED_BIT: lambda f: {"attributes": f["attributes"] | _UNUSED_BIT},
    Defect.UNKNOWN_CODEC: lambda f: {"attributes": f["attributes"] | 5},
    Defect.NO_SEQUENCE: lambda f: {"base_sequence": NO_SEQUENCE},
    Defect.NO_EPOCH: lambda f: {"producer_epoch": NO_PRODUCER_EPOCH},
    Defect.NOT_COMPRESSED: lambda f: {"attributes": f["attributes"] & ~7 | 1},
    Defect.MAX_TIMESTAMP_AHEAD: lambda f: {"max_timestamp_ms": f["max_timestamp_ms"] + 2 * _DAY_MS},
    Defect.MAX_TIMESTAMP_BEHIND: lambda f: {"max_timestamp_ms": f["max_timestamp_ms"] - 2 * _DAY_MS},
    Defect.NO_MAX_TIMESTAMP: lambda f: {"max_timestamp_ms": _NO_TIMESTAMP},
}


def batch_bytes(spec: BatchSpec, producer_id: int, base_ms: int) -> bytes | None:
    """Return the records field of a Produce request for ``spec``. ``base_ms`` is the play's start, ms since 1970."""
    if spec.defect is Defect.NO_BYTES:
        return b""
    first_ms = _NO_TIMESTAMP if spec.age_ms is None else base_ms - spec.age_ms
    records = _records(spec)
    if spec.defect in _RECORDS:
        records = _RECORDS[spec.defect](records)
    payload = compress(Codec[spec.codec], b"".join(records), None)
    is_timed = spec.age_ms is not None
    fields: _Fields = {
        "base_offset": 0,
        "length": BATCH_OVERHEAD_BYTES - LENGTH_EXCLUDES_BYTES + len(payload),
        "leader_epoch": -1,
        "magic": 2,
        "crc": 0,
        "attributes": Codec[spec.codec] | (TRANSACTIONAL if spec.transactional else 0),
        "last_offset_delta": spec.count - 1,
        "base_timestamp_ms": first_ms,
        "max_timestamp_ms": first_ms + (spec.count - 1 if is_timed else 0),
        "producer_id": NO_PRODUCER_ID if spec.producer is None else producer_id,
        "producer_epoch": NO_PRODUCER_EPOCH if spec.producer is None else spec.epoch,
        "base_sequence": NO_SEQUENCE if spec.producer is None else spec.sequence,
        "record_count": spec.count,
    }
    if spec.defect in _HEADERS:
        fields |= _HEADERS[spec.defect](fields)
    return _around(spec.defect, _sealed(fields, payload))


def _around(defect: Defect, data: bytes) -> bytes:
    match defect:
        case Defect.BAD_CRC:
            return data[:CRC_AT] + bytes(byte ^ 0x55 for byte in data[CRC_AT:CRC_COVERS_FROM]) + data[21:]
        case Defect.CUT:
            return data[:-4]
        case Defect.TRAILING_BYTES:
            return data + b"\0\0\0\0\0"
        case Defect.TWO_BATCHES:
            return data + data
        case _:
            return data


def _records(spec: BatchSpec) -> list[bytes]:
    made = []
    for index in range(spec.count):
        delta_ms = index if spec.age_ms is not None else 0
        value = f"{spec.tag}-{index}-".encode().ljust(spec.size_bytes, b".")
        key = None if index in spec.null_keys else f"k{index}".encode()
        offset_delta = 0 if spec.defect is Defect.SAME_OFFSETS else index
        record = write_record(delta_ms, offset_delta, key, value, (("h", b"1"),) if index == 0 else ())
        made.append(record)
    if spec.defect is Defect.BAD_UTF8_HEADER:
        made[0] = made[0].replace(b"\x02h", b"\x02\xff")
    return made


def _inside(record: bytes) -> bytes:
    """Return a record without its length, which has one or two bytes."""
    return record[2 if record[0] & 0x80 else 1 :]


def _sized(inside: bytes) -> bytes:
    return write_varint(len(inside)) + inside


def _sealed(fields: _Fields, payload: bytes) -> bytes:
    data = bytearray(HEADER.pack(*fields.values()) + payload)
    data[CRC_AT:CRC_COVERS_FROM] = crc32c(bytes(data[CRC_COVERS_FROM:])).to_bytes(4, "big")
    return bytes(data)
