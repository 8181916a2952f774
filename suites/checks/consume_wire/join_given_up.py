"""# join-given-up

## What it does

Looks for members that give up a JoinGroup while their coordinator waits for the other members: they close the
connection or join again, after request.timeout.ms and before the rebalance timeout that they have announced.

## Why it is bad

A coordinator answers when all members have joined, and one of them may still work on what it has read. A member that
does not wait joins a second time, often under a new id. The coordinator then waits for the first id as well, and the
rebalance takes longer for all members.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. Java's consumer waits for max.poll.interval.ms and five seconds more.

Not judged: a wait in which the member closes, is killed or frozen, leaves, subscribes again or gets an error, and a
time in which a fault acts on the network or the brokers.

## What it needs

The witness's frames and the members' histories. If the process or the harness stalled meanwhile, the trial is
inconclusive.

## References

CSM-GRP-03 (``AbstractCoordinator#sendJoinGroupRequest``).
"""

from __future__ import annotations

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import unread_of_members
from suites.analysis.consuming.joins import Wait, waits
from suites.analysis.consuming.timing import REQUEST, setting_ms
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS
from suites.analysis.way import SLACK_NS

GIVEN_UP = Anomaly(
    "join-given-up",
    "{count:JoinGroup} given up after up to {most_ms} ms, although the rebalance may take {limit_ms} ms",
    Level.SHOULD,
)


def long_waits(evidence: Evidence) -> list[Wait]:
    """Return the waits that lasted about as long as request.timeout.ms, or longer, within the rebalance timeout."""
    least_ns = setting_ms(evidence, REQUEST) * NS_PER_MS - SLACK_NS
    return [each for each in waits(evidence) if least_ns <= each.length_ns < each.limit_ns - SLACK_NS]


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding. Inconclusive if something stalled meanwhile."""
    cut = [each for each in long_waits(evidence) if each.is_given_up]
    if not cut:
        return []
    samples: list[Sample] = [
        {"member": each.process, "joined_ns": each.span.begin_ns, "waited_ms": each.length_ns // NS_PER_MS}
        for each in cut
    ]
    found = GIVEN_UP.found(
        len(cut),
        samples,
        most_ms=max(each.length_ns for each in cut) // NS_PER_MS,
        limit_ms=min(each.limit_ns for each in cut) // NS_PER_MS,
    )
    doubt_if_unreadable(found, unread_of_members(evidence))
    for each in cut:
        doubt_if_stalled(evidence, found, *each.span)
    return [found]


def _arises(evidence: Evidence) -> int:
    return len(long_waits(evidence))


CHECK = Check(
    name="join-given-up",
    summary="Members that give up a JoinGroup while their group rebalances.",
    requirements=(Requirement("CSM-GRP-03", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="join_ends_with_the_request_timeout",
    run=run,
    workloads=frozenset({"consume"}),
)
