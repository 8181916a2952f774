"""Scan a batch's records in one pass: check that they are valid, and collect their timestamps, offsets and contents.

A real broker reads every record that it appends, field by field (``DefaultRecord``). This scan does the same as fast as
possible: nearly every integer takes one or two bytes, and these cases are handled inline. The result is kept, so that
the batch does not have to be read again to list the records in the log.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from harness.wire.errors import WireError
from harness.wire.records.encoding import MAX_VARINT_BYTES, MAX_VARLONG_BYTES, read_varint

_NULL: Final = -1

Found = tuple[int, int, bytes | None, bytes | None, int]
"""A record: its offset delta, its timestamp delta in ms, its key, its value, and its number of headers."""

#: The values of one-byte and two-byte integers. The index is the first byte plus 128 times the second byte. For two
#: bytes the first byte's highest bit is set, which adds 128, so there are two ranges.
_UNFOLDED: Final = tuple((folded >> 1) ^ -(folded & 1) for folded in (*range(1 << 7), *range(1 << 14)))


class Scan(NamedTuple):
    """Facts about all records, and the records themselves.

    The facts are the least and greatest timestamp delta in ms, whether every record has a key, and whether the offset
    deltas count from 0.
    """

    least_delta_ms: int
    greatest_delta_ms: int
    all_have_keys: bool
    offsets_count: bool
    records: list[Found]


class Unscanned(Enum):
    """Why bytes are not the claimed records: a record's length has no end, or any other reason."""

    LENGTH = "length"
    RECORDS = "records"


def scan(plain: bytes, count: int) -> Scan | Unscanned:
    """Return the facts about ``count`` records in ``plain``, or why it does not contain exactly these."""
    try:
        return _scan(plain, count)
    except (IndexError, WireError):
        return Unscanned.RECORDS


def _scan(data: bytes, count: int) -> Scan | Unscanned:
    at, size, unfolded = 0, len(data), _UNFOLDED
    records: list[Found] = []
    for _ in range(count):
        if (byte := data[at]) < 0x80:
            length = unfolded[byte]
            at += 1
        elif (second := data[at + 1]) < 0x80:
            length = unfolded[byte + (second << 7)]
            at += 2
        elif min(data[at : at + MAX_VARINT_BYTES]) >= 0x80 and size - at >= MAX_VARINT_BYTES:
            return Unscanned.LENGTH
        else:
            length, at = read_varint(data, at)
        end = at + length
        if length < 0 or end > size:
            return Unscanned.RECORDS
        at += 1
        if (byte := data[at]) < 0x80:
            delta_ms = unfolded[byte]
            at += 1
        elif (second := data[at + 1]) < 0x80:
            delta_ms = unfolded[byte + (second << 7)]
            at += 2
        else:
            delta_ms, at = read_varint(data, at, MAX_VARLONG_BYTES)
        if (byte := data[at]) < 0x80:
            index = unfolded[byte]
            at += 1
        elif (second := data[at + 1]) < 0x80:
            index = unfolded[byte + (second << 7)]
            at += 2
        else:
            index, at = read_varint(data, at)
        key, at = _nullable_bytes(data, at)
        value, at = _nullable_bytes(data, at)
        headers = 0
        if data[at]:
            headers, at = _headers(data, at)
        else:
            at += 1
        if at != end:
            return Unscanned.RECORDS
        records.append((index, delta_ms, key, value, headers))
    return _facts(records) if at == size else Unscanned.RECORDS


def _facts(records: list[Found]) -> Scan:
    deltas_ms = [record[1] for record in records]
    return Scan(
        min(deltas_ms, default=0),
        max(deltas_ms, default=0),
        None not in [record[2] for record in records],
        [record[0] for record in records] == list(range(len(records))),
        records,
    )


def _nullable_bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    """Return the bytes at ``at``, or None for null, and the position after them. WireError for a length below -1."""
    if (byte := data[at]) < 0x80:
        length = _UNFOLDED[byte]
        at += 1
    elif (second := data[at + 1]) < 0x80:
        length = _UNFOLDED[byte + (second << 7)]
        at += 2
    else:
        length, at = read_varint(data, at)
    if length >= 0:
        return data[at : at + length], at + length
    if length != _NULL:
        raise WireError("negative-length", "a length below -1")
    return None, at


def _headers(data: bytes, at: int) -> tuple[int, int]:
    """Return the number of headers, and the position after them."""
    count, at = read_varint(data, at, MAX_VARINT_BYTES)
    # A header takes at least two bytes, so the bytes that are present bound the claim.
    if not 0 <= count <= (len(data) - at) // 2:
        raise WireError("record-header-count", "a record claims {count} headers", count=count)
    for _ in range(count):
        length, at = read_varint(data, at)
        if length < 0:
            raise WireError("record-header-name", "a record header has no name")
        at += length
        length, at = read_varint(data, at)
        if length < _NULL:
            raise WireError("negative-length", "a length below -1")
        at += max(length, 0)
    return count, at
