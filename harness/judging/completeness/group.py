"""What the harness did in a trial whose clients consume: it wrote every record, ended every transaction, and read the
group's offsets. Pure.
"""

from __future__ import annotations

from collections import defaultdict

from harness.judging.completeness.kinds import has_other_log
from harness.model.anomaly import ReasonKind
from harness.model.evidence import Evidence
from harness.model.harness_events import (
    HARNESS,
    GroupCommitted,
    HarnessEvent,
    MemberStarted,
    RecordsWritten,
    TransactionEnded,
)
from harness.model.rows import LogRecord, Reason
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
    if strange := _strange_transactions(evidence):
        return GROUP_LACKS.reason(
            told="a transaction did not end in the log as the harness has ended it",
            lack="marker",
            count=strange,
        )
    return None


def _strange_transactions(evidence: Evidence) -> int:
    """Count the ends of transactions, by partition, that the log's markers contradict or do not have.

    The transactions of one producer follow each other, and each of its markers in a partition ends one of them.
    """
    rows = {(row.partition, row.offset): row for row in evidence.log}
    markers: defaultdict[tuple[int, int], list[LogRecord]] = defaultdict(list)
    for row in evidence.log:
        if row.control:
            markers[row.partition, row.producer_id].append(row)
    strange = 0
    begins: dict[tuple[int, int], int] = {}
    for event in evidence.history:
        if not isinstance(event, TransactionEnded):
            continue
        kind = "COMMIT" if event.committed else "ABORT"
        places = list(zip(event.partitions, event.offsets, strict=True))
        for partition in event.ends:
            key = partition, event.producer_id
            begin = begins.get(key, -1)
            marker = next((row for row in markers[key] if row.offset > begin), None)
            strange += (
                marker is None
                or marker.key != kind
                or any(
                    not begin < place[1] < marker.offset
                    or place not in rows
                    or rows[place].producer_id != event.producer_id
                    for place in places
                    if place[0] == partition
                )
            )
            begins[key] = begin if marker is None else marker.offset
    return strange


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
