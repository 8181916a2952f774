"""Validation of a record, and its size (PRD-ISP-09, PRD-ACC-10)."""

from __future__ import annotations

from types import NoneType

from clients.reference.config.producer_config import INT64_MAX
from clients.reference.ports import INT32_MAX
from clients.reference.producer.producer_batch import Headers
from harness.model.errors import UsageError
from harness.wire.records import record_size_bytes

PLAIN_OVERHEAD_BYTES = 32
"""The maximum overhead of a record without headers: five varints and a byte."""
_BYTES_OR_NONE = (bytes, NoneType)


def size_of_record(
    key: bytes | None, value: bytes | None, headers: Headers, timestamp_ms: int, partition: int | None
) -> int:
    """Return an upper bound of the record's size in bytes. Raise UsageError for an invalid record (PRD-ISP-09)."""
    if not 0 <= timestamp_ms <= INT64_MAX or (partition is not None and not 0 <= partition <= INT32_MAX):
        raise UsageError(
            "record-timestamp-or-partition",
            "a record's timestamp and partition must be in range and not negative",
        )
    if not (isinstance(key, _BYTES_OR_NONE) and isinstance(value, _BYTES_OR_NONE)):
        raise UsageError("record-key-or-value", "a record's key and value must be bytes or None")
    try:
        if not all(isinstance(content, _BYTES_OR_NONE) for _, content in headers):
            raise UsageError("record-header-value", "a header's value must be bytes or None")
        return record_size_bytes(key, value, headers)
    except (AttributeError, TypeError, ValueError):
        raise UsageError(
            "record-headers", "headers must be pairs of a text name and a value that is bytes or None"
        ) from None
