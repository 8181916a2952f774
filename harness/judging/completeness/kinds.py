"""Questions about a row or a trial that several rules of completeness share."""

from __future__ import annotations

from harness.model.evidence import Evidence
from harness.model.rows import Frame, FrameKind
from harness.wire.apis import Api

#: Faults after which the log is not what was appended to it.
OTHER_LOG = frozenset({"log_trim", "topic_recreate"})

#: Faults after which offsets of the log have no record.
WITH_GAPS = frozenset({"compaction"})


def is_produce(row: Frame) -> bool:
    """True for a Produce request."""
    return row.kind is FrameKind.REQUEST and row.api_key == Api.PRODUCE


def has_other_log(evidence: Evidence) -> bool:
    """True if a fault rewrote the log."""
    return any(row.spec.kind in OTHER_LOG for row in evidence.faults)


def has_gaps(evidence: Evidence) -> bool:
    """True if a fault removed records between others."""
    return any(row.spec.kind in WITH_GAPS for row in evidence.faults)
