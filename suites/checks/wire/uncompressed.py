"""Uncompressed batches that compression would hardly have made smaller.

librdkafka compresses a batch and sends it as it is if that does not make it smaller, for example a single short record.
The content of a batch is known from the log. A value of which the log keeps only the short form is made again, since it
identifies itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from harness.model import payload
from harness.model.evidence import Evidence, view
from harness.model.rows import LogRecord, ProducePart
from harness.model.spec import Workload
from harness.wire.records import Codec
from harness.wire.records.codecs import compress
from suites.analysis.excuses import grants

NONE: Final = Codec.NONE.name.lower()
#: What compression must save at least, since libraries and levels differ: a tenth, and the header of a format.
LEAST_SHARE: Final = 0.1
LEAST_BYTES: Final = 32
#: The bytes of a record besides its key and value: lengths, attributes, and differences of timestamp and offset.
_BESIDE: Final = bytes(7)

Place = tuple[str, int, int | None]


@grants("compression-does-not-pay")
def is_excused(evidence: Evidence, part: ProducePart, codec: str) -> bool:
    """True if this uncompressed batch would hardly be smaller with ``codec``, or if its content is unknown."""
    rows = _batches(evidence).get((part.topic, part.partition, part.crc))
    if part.compression != NONE or codec.upper() not in Codec.__members__:
        return False
    if rows is None or (content := _content(evidence.record.spec.workload, rows)) is None:
        return True
    saved_bytes = len(content) - len(compress(Codec[codec.upper()], content))
    return saved_bytes < LEAST_BYTES + LEAST_SHARE * len(content)


@view
def _batches(evidence: Evidence) -> Mapping[Place, list[LogRecord]]:
    """Return the records of the log by topic, partition and CRC of their batch: of all batches with the same bytes."""
    found: dict[Place, list[LogRecord]] = {}
    for row in evidence.log:
        if not row.control and row.batch_crc is not None:
            found.setdefault((row.topic, row.partition, row.batch_crc), []).append(row)
    return found


def _content(workload: Workload, rows: list[LogRecord]) -> bytes | None:
    """Return the records of a batch about as they are encoded, or None if a value is not known."""
    values = [_value(workload, row) for row in rows]
    if None in values:
        return None
    texts = zip(rows, values, strict=True)
    return b"".join(_BESIDE + (row.key or "").encode() + (value or "").encode() for row, value in texts)


def _value(workload: Workload, row: LogRecord) -> str | None:
    if row.value_bytes is None:
        return row.value or ""
    identity = payload.decode(row.value)
    if identity is None or not 0 <= identity.n < workload.records:
        return None
    return payload.encode(identity, row.value_bytes, workload.body_of(identity.n) or "")
