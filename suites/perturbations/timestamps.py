"""Records whose timestamps differ from when they were handed over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import Frame, LogRecord
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.perturbations.batches import altered, middle, several, spots
from suites.perturbations.edits import with_frames
from suites.perturbations.exchanges import Batch, Spot, settled
from suites.perturbations.perturbation import channels, once

IN_BATCH = channels("frames", "log")
#: An hour and a day: no client's clock is wrong by that much.
HOUR_MS, DAY_MS = 3_600_000, 86_400_000


def _timed(at: Callable[[int], int]) -> Callable[[Evidence, str], Evidence]:
    """Return a perturbation that gives every record and every batch on the wire another timestamp."""

    def frame(row: Frame) -> Frame:
        parts = tuple(
            [
                part
                if part.first_timestamp_ms is None or part.max_timestamp_ms is None
                else changed(
                    part,
                    first_timestamp_ms=at(part.first_timestamp_ms),
                    max_timestamp_ms=at(part.max_timestamp_ms),
                )
                for part in row.produce
            ]
        )
        return changed(row, produce=parts) if row.produce else row

    def record(row: LogRecord) -> LogRecord:
        return row if row.control else changed(row, timestamp_ms=at(row.timestamp_ms))

    def apply(evidence: Evidence, _: str) -> Evidence:
        moved = with_frames(evidence, map(frame, evidence.frames))
        return replace(
            moved,
            log=tuple(map(record, evidence.log)),
            blocked_frames=tuple(map(frame, evidence.blocked_frames)),
        )

    return apply


def _is_timed(evidence: Evidence) -> bool:
    """True if records have their producer's timestamps, and the rows of requests contain them."""
    parts = [part for frame in evidence.frames for part in frame.produce]
    told = any((part.first_timestamp_ms or 0) > 0 for part in parts)
    return told and any(record.timestamp_ms > 0 for record in evidence.log)


def _one_timestamp(evidence: Evidence, spot: Spot) -> Evidence:
    """Give the record in the middle of a batch yesterday's timestamp."""
    record = settled(evidence)[spot].records[middle(settled(evidence)[spot])]
    return altered(
        evidence, spot, middle(settled(evidence)[spot]), timestamp_ms=max(0, record.timestamp_ms - DAY_MS)
    )


def _timestamped(evidence: Evidence, batch: Batch) -> bool:
    return _is_timed(evidence) and several(evidence, batch)


PERTURBATIONS = (
    Perturbation(
        "timestamps-zero",
        IN_BATCH,
        "sends every record with the timestamp 0",
        ("timestamps-outside",),
        once(_is_timed),
        _timed(lambda _: 0),
        Verdict.DIFFERS,
    ),
    Perturbation(
        "timestamps-without",
        IN_BATCH,
        "sends every record without a timestamp (-1)",
        ("timestamps-outside",),
        once(_is_timed),
        _timed(lambda _: -1),
        Verdict.DIFFERS,
    ),
    Perturbation(
        "timestamps-in-seconds",
        IN_BATCH,
        "sends timestamps in seconds instead of milliseconds",
        ("timestamps-outside",),
        once(_is_timed),
        _timed(lambda t_ms: t_ms // 1_000),
        Verdict.DIFFERS,
    ),
    Perturbation(
        "timestamps-ahead",
        IN_BATCH,
        "sends timestamps that are an hour late",
        ("timestamps-outside",),
        once(_is_timed),
        _timed(lambda t_ms: t_ms + HOUR_MS),
        Verdict.DIFFERS,
    ),
    Perturbation(
        "old-timestamp",
        IN_BATCH,
        "sends a record with yesterday's timestamp",
        ("record-misdated",),
        spots(_timestamped),
        _one_timestamp,
        Verdict.DIFFERS,
    ),
)
