"""The effects of faults that act on members of a group, counted in the members' own events."""

from __future__ import annotations

from harness.model.consumer_contract import PartitionsAssigned, RecordsConsumed
from harness.model.contract import OpComplete, Stats
from harness.model.evidence import Evidence
from harness.model.harness_events import MemberFrozen, MemberKilled, MemberStarted
from harness.model.rows import FaultRow

#: How long after the fault's end a consequence still counts: the longest session or rebalance timeout of the profile.
AFTER_NS = 20_000_000_000


def rebalanced(row: FaultRow, evidence: Evidence) -> int:
    """Count assignments after the fault began: the group noticed it."""
    began_ns, until_ns = _span(row)
    return sum(
        isinstance(event, PartitionsAssigned) and began_ns <= event.mono_ns <= until_ns
        for event in evidence.history
    )


def killed(row: FaultRow, evidence: Evidence) -> int:
    """Count processes that the harness killed in the fault's window."""
    return _within(row, evidence, MemberKilled)


def started(row: FaultRow, evidence: Evidence) -> int:
    """Count processes that the harness started in the fault's window."""
    return _within(row, evidence, MemberStarted)


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
    """Count members that ended a close in the fault's window."""
    if row.effective_ns is None:
        return 0
    began_ns, ended_ns = row.effective_ns
    return sum(
        isinstance(event, OpComplete) and event.op == "close" and began_ns <= event.mono_ns <= ended_ns
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


def _span(row: FaultRow) -> tuple[int, int]:
    began_ns, ended_ns = row.effective_ns or (0, -AFTER_NS)
    return began_ns, ended_ns + AFTER_NS


def _within(row: FaultRow, evidence: Evidence, kind: type[MemberKilled | MemberStarted]) -> int:
    began_ns, ended_ns = row.effective_ns or (0, -1)
    return sum(
        isinstance(event, kind) and began_ns <= event.mono_ns <= ended_ns for event in evidence.history
    )
