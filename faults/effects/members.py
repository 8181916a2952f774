"""The effects of faults that act on members of a group, counted in the members' own events."""

from __future__ import annotations

from itertools import dropwhile

from faults.effects.span import span_of
from harness.model.consumer_contract import ConsumerError, RecordsConsumed
from harness.model.contract import OpComplete, Stats
from harness.model.evidence import Evidence
from harness.model.harness_events import MemberFrozen, MemberKilled, MemberStarted, RecordsWritten
from harness.model.rows import FaultRow

#: How long after the fault's end its effect may come: within a few turns of the application.
AFTER_NS = 5_000_000_000
#: How long a record takes at most to reach a member that nothing keeps from it.
IN_TIME_NS = 500_000_000


def killed(row: FaultRow, evidence: Evidence) -> int:
    """Count processes that the harness killed in the fault's window."""
    began_ns, ended_ns = row.effective_ns or (0, -1)
    return sum(
        isinstance(event, MemberKilled) and began_ns <= event.mono_ns <= ended_ns
        for event in evidence.history
    )


def started(row: FaultRow, evidence: Evidence) -> int:
    """Count processes that the harness started in the fault's window, besides those with which the trial began.

    The latter were all started before the first call of any of them ended.
    """
    began_ns, ended_ns = row.effective_ns or (0, -1)
    later = dropwhile(lambda event: not isinstance(event, OpComplete), evidence.history)
    return sum(isinstance(event, MemberStarted) and began_ns <= event.mono_ns <= ended_ns for event in later)


def frozen(row: FaultRow, evidence: Evidence) -> int:
    """Count the heartbeats, one a second, that a frozen process missed."""
    if row.effective_ns is None:
        return 0
    began_ns, ended_ns = row.effective_ns
    stopped = {
        event.producer
        for event in evidence.history
        if isinstance(event, MemberFrozen) and began_ns <= event.mono_ns <= ended_ns
    }
    due = max(0, (ended_ns - began_ns) // 1_000_000_000 - 1)
    beats = sum(
        isinstance(event, Stats) and event.producer in stopped and began_ns < event.mono_ns < ended_ns
        for event in evidence.history
    )
    return max(0, len(stopped) * due - beats)


def closed(row: FaultRow, evidence: Evidence) -> int:
    """Count members that ended a close during the fault or shortly after, before the harness closed all of them.

    A member first ends the work on its turn.
    """
    began_ns, until_ns = _span(row)
    until_ns = min(until_ns, (evidence.record.phases.final_ns or until_ns + 1) - 1)
    return sum(
        isinstance(event, OpComplete) and event.op == "close" and began_ns <= event.mono_ns <= until_ns
        for event in evidence.history
    )


def slow_turns(row: FaultRow, evidence: Evidence, processing_ms: int) -> int:
    """Count turns in the fault's window on which a member worked for as long as the fault demands."""
    if row.effective_ns is None:
        return 0
    began_ns, ended_ns = row.effective_ns
    return sum(
        isinstance(event, RecordsConsumed)
        and began_ns <= event.polled_ns
        and event.polled_ns < ended_ns
        and event.mono_ns - event.polled_ns >= processing_ms * 1_000_000
        for event in evidence.history
    )


def interrupted(row: FaultRow, evidence: Evidence) -> int:
    """Count exceptions that an application got from a call during the fault or shortly after, and survived."""
    began_ns, until_ns = _span(row)
    return sum(
        isinstance(event, ConsumerError) and began_ns <= event.mono_ns <= until_ns
        for event in evidence.history
    )


def committed(row: FaultRow, evidence: Evidence) -> int:
    """Count commits that the harness asked for, and that ended during the fault or shortly after."""
    return _ended(row, evidence, "commit")


def attempted(row: FaultRow, evidence: Evidence) -> int:
    """Count attempts of calls that ended during the fault or shortly after, in whatever way."""
    return _ended(row, evidence, "attempt")


def _ended(row: FaultRow, evidence: Evidence, op: str) -> int:
    began_ns, until_ns = _span(row)
    return sum(
        isinstance(event, OpComplete) and event.op == op and began_ns <= event.mono_ns <= until_ns
        for event in evidence.history
    )


def read_again(row: FaultRow, evidence: Evidence) -> int:
    """Count records that a process had taken before the fault, and took again during it or shortly after."""
    began_ns, until_ns = _span(row)
    before: set[tuple[str, str, int, int]] = set()
    again: set[tuple[str, str, int, int]] = set()
    for event in evidence.history:
        if isinstance(event, RecordsConsumed):
            for part in event.partitions:
                places = {
                    (str(event.producer), part.topic, part.partition, offset) for offset in part.offsets
                }
                if event.polled_ns < began_ns:
                    before |= places
                elif event.polled_ns <= until_ns:
                    again |= places & before
    return len(again)


def withheld(row: FaultRow, evidence: Evidence) -> int:
    """Count records that were written during the fault, some time before its end, and that no member got until then."""
    span = span_of(row)
    if span is None:
        return 0
    began_ns, ended_ns = span.begin_ns, span.due_ns
    got: set[tuple[int, int]] = set()
    written: set[tuple[int, int]] = set()
    for event in evidence.history:
        if isinstance(event, RecordsConsumed) and event.polled_ns < ended_ns:
            got.update((part.partition, offset) for part in event.partitions for offset in part.offsets)
        elif isinstance(event, RecordsWritten) and began_ns <= event.invoke_ns <= ended_ns - IN_TIME_NS:
            written.update(zip(event.partitions, event.offsets, strict=True))
    return len(written - got)


def _span(row: FaultRow) -> tuple[int, int]:
    began_ns, ended_ns = row.effective_ns or (0, -AFTER_NS)
    return began_ns, ended_ns + AFTER_NS
