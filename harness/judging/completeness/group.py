"""What the harness did in a trial whose clients consume: it wrote every record, and read the group's offsets. Pure."""

from __future__ import annotations

from harness.judging.completeness.kinds import has_other_log
from harness.model.anomaly import ReasonKind
from harness.model.evidence import Evidence
from harness.model.harness_events import HARNESS, GroupCommitted, HarnessEvent, MemberStarted, RecordsWritten
from harness.model.rows import Reason
from harness.plugins import registry

GROUP_LACKS = ReasonKind(
    "group-incomplete", "the evidence about the group is incomplete: {told} ({count:time})"
)


def reads(evidence: Evidence) -> bool:
    """Return True if the clients of this trial are members of a group."""
    return registry.workload(evidence.record.spec.workload.kind).members is not None


def members(evidence: Evidence) -> Reason | None:
    """Check the harness's own events, and that what it wrote is in the log."""
    if not reads(evidence):
        return None
    if (lack := _own_events(evidence)) is not None:
        return lack
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


def _own_events(evidence: Evidence) -> Reason | None:
    """Check that the harness's events are gapless from 0 to the group's offsets, and that each event has a process."""
    own = [event for event in evidence.history if event.producer == HARNESS]
    if [event.seq for event in own] != list(range(len(own))):
        return GROUP_LACKS.reason(told="an event of the harness is missing", lack="event", count=1)
    if not own or not isinstance(own[-1], GroupCommitted):
        return GROUP_LACKS.reason(
            told="the committed offsets were not read at the end", lack="offsets", count=1
        )
    started = {HARNESS, *(event.member for event in own if isinstance(event, MemberStarted))}
    strange = sum(event.producer not in started for event in evidence.history)
    if strange:
        return GROUP_LACKS.reason(told="an event is of no process", lack="process", count=strange)
    acts = sum(isinstance(event, HarnessEvent) and event.producer != HARNESS for event in evidence.history)
    if acts != own[-1].acts:
        return GROUP_LACKS.reason(
            told="an act of the harness is missing", lack="act", count=own[-1].acts - acts
        )
    return None
