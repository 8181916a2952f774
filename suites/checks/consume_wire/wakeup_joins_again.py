"""# wakeup-joins-again

## What it does

Looks for members that give up a JoinGroup because another thread of the application has interrupted their poll: they
close the connection or join again before they have the answer.

## Why it is bad

The coordinator has counted the first JoinGroup. With another one the rebalance begins again for all members, and an
application that wakes its consumer up often never gets an assignment.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. In Java's consumer the next poll goes on with the same join.

Judged are the waits for a JoinGroup in which the application called wakeup(). Those are left out in which the member
closes, is killed or frozen, leaves, subscribes again or gets an error, and a time in which a fault acts on the
network or the brokers.

## What it needs

The witness's frames and the members' histories. If the process or the harness stalled meanwhile, the trial is
inconclusive. A client without wakeup() is not judged.

## References

CSM-WKP-02 (``AbstractCoordinatorTest#testWakeupAfterJoinGroupSent``).
"""

from __future__ import annotations

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import unread_of_members
from suites.analysis.consuming.calls import has_called
from suites.analysis.consuming.joins import Wait, waits
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

WAKEUP = "wakeup"
AGAIN = Anomaly(
    "wakeup-joins-again", "{count:JoinGroup} given up after a wakeup, before it was answered", Level.SHOULD
)


def interrupted(evidence: Evidence) -> list[Wait]:
    """Return the waits for a JoinGroup in which the application woke its consumer up."""
    return [wait for wait in waits(evidence) if has_called(evidence, wait.process, wait.span, (WAKEUP,))]


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding. Inconclusive if something stalled meanwhile."""
    again = [each for each in interrupted(evidence) if each.is_given_up and each.length_ns < each.limit_ns]
    if not again:
        return []
    samples: list[Sample] = [
        {"member": each.process, "joined_ns": each.span.begin_ns, "waited_ms": each.length_ns // NS_PER_MS}
        for each in again
    ]
    found = AGAIN.found(len(again), samples)
    doubt_if_unreadable(found, unread_of_members(evidence))
    for each in again:
        doubt_if_stalled(evidence, found, *each.span)
    return [found]


def _arises(evidence: Evidence) -> int:
    return len(interrupted(evidence))


CHECK = Check(
    name="wakeup-joins-again",
    summary="Members that give up a JoinGroup because they were woken up.",
    requirements=(Requirement("CSM-WKP-02", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="wakeup_joins_again",
    run=run,
    workloads=frozenset({"consume"}),
)
