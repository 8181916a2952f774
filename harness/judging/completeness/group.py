"""What the harness did in a trial whose clients consume: it wrote every record, and read the group's offsets. Pure."""

from __future__ import annotations

from harness.judging.completeness.kinds import has_other_log
from harness.model.anomaly import ReasonKind
from harness.model.evidence import Evidence
from harness.model.harness_events import GroupCommitted, RecordsWritten
from harness.model.rows import Reason
from harness.plugins import registry

GROUP_LACKS = ReasonKind(
    "group-incomplete", "the evidence about the group is incomplete: {told} ({count:time})"
)


def reads(evidence: Evidence) -> bool:
    """Return True if the clients of this trial are members of a group."""
    return registry.workload(evidence.record.spec.workload.kind).members is not None


def members(evidence: Evidence) -> Reason | None:
    """Check that the harness's own writes are in the log, and that the group's offsets were read once."""
    if not reads(evidence):
        return None
    read = sum(isinstance(event, GroupCommitted) for event in evidence.history)
    if read != 1:
        return GROUP_LACKS.reason(told="the committed offsets were not read once", lack="offsets", count=read)
    if has_other_log(evidence):
        return None
    stored = {(row.partition, row.offset): n for row, n in zip(evidence.log, evidence.numbers, strict=True)}
    lacking = sum(
        stored.get((partition, offset)) != n
        for event in evidence.history
        if isinstance(event, RecordsWritten)
        for n, partition, offset in zip(event.numbers, event.partitions, event.offsets, strict=True)
    )
    if lacking:
        return GROUP_LACKS.reason(
            told="a record that was written is not in the log", lack="record", count=lacking
        )
    return None
