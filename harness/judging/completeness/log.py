"""The log that was read back: it has no gaps, and it contains what a broker reported as stored. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from harness.judging.completeness.kinds import has_gaps, has_other_log, is_produce
from harness.model.anomaly import ReasonKind
from harness.model.evidence import Evidence
from harness.model.harness_events import RecordsWritten
from harness.model.rows import FrameKind, ProducePart, Reason

LOG_LACKS = ReasonKind("log-incomplete", "the log that was read back is incomplete: {told} ({count:time})")
ACKS_ALL = -1


def offsets(evidence: Evidence) -> Reason | None:
    """Check that offsets count from 0 without gaps or repetitions.

    Those of a compacted topic do from the load's first record on.
    """
    if has_other_log(evidence):
        return None
    begins = _first_written(evidence) if has_gaps(evidence) else {}
    gaps = 0
    for partition, found in _offsets(evidence).items():
        begin = begins.get(partition, 0)
        kept = sorted(offset for offset in found if offset >= begin)
        gaps += kept != list(range(begin, begin + len(kept)))
    if gaps:
        return LOG_LACKS.reason(
            told="a partition's offsets are not gapless from 0", lack="offset", count=gaps
        )
    return None


def answered(evidence: Evidence) -> Reason | None:
    """Check that every offset that a broker reported as stored is before the end of the log."""
    if has_other_log(evidence):
        return None
    found = _offsets(evidence)
    beyond = sum((part.base_offset or 0) >= len(found.get(part.partition, ())) for part in _stored(evidence))
    return (
        LOG_LACKS.reason(told="a broker stored a batch beyond its end", lack="stored-batch", count=beyond)
        if beyond
        else None
    )


def _offsets(evidence: Evidence) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for record in evidence.log:
        found.setdefault(record.partition, []).append(record.offset)
    return found


def _first_written(evidence: Evidence) -> dict[int, int]:
    """Return partition -> the offset of the load's first record."""
    first: dict[int, int] = {}
    for event in evidence.history:
        if isinstance(event, RecordsWritten):
            for partition, offset in zip(event.partitions, event.offsets, strict=True):
                first[partition] = min(first.get(partition, offset), offset)
    return first


def _stored(evidence: Evidence) -> Iterator[ProducePart]:
    """Yield the parts of untouched responses, under acks=all, that say where a batch was stored."""
    asked = {
        (row.conn, row.correlation_id) for row in evidence.frames if is_produce(row) and row.acks == ACKS_ALL
    }
    for row in evidence.frames:
        if row.kind is FrameKind.RESPONSE and row.fault is None and (row.conn, row.correlation_id) in asked:
            yield from (part for part in row.produce if part.error_code == 0)
