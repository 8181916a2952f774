"""# zombie

## What it does

Looks for members that know that they are no longer in their group, and that give their application more records before
they join again.

## Why it is bad

Another member reads the same partitions. Whatever the application does with these records, it does a second time, and
its results overwrite newer ones. Fetches are not fenced, so only the client can prevent it.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. The coordinator refuses the commits of such a member.

A member of a classic group knows it once it has read UNKNOWN_MEMBER_ID or ILLEGAL_GENERATION as the answer to a request
of its generation, or once it has left by itself. A member of a KIP-848 group knows it once it has read
FENCED_MEMBER_EPOCH or UNKNOWN_MEMBER_ID as the answer to a heartbeat. A second later, it must give no record until it
joins again. The time ends before that if the client looks for its coordinator, loses its connection to it, or is told
to look elsewhere: Java's consumer gives its partitions up as it joins, and reads on until it can. Records of partitions
that the listener was given meanwhile do not count.

## What it needs

The witness's frames and the members' histories. If the process or the harness stalled meanwhile, the trial is
inconclusive.

## References

CSM-GRP-12 (``ConsumerCoordinator#onJoinPrepare``), CSM-NGP-05 (``AbstractMembershipManager#transitionToFenced``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import PartitionsAssigned
from harness.model.evidence import Evidence, view
from harness.model.exchanges import FOR_EVER, connections
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.consume import accounting
from harness.workloads.consume.accounting import Delivery
from suites.analysis.consuming.asked import Asked, asked, unread_of_members
from suites.analysis.consuming.beats import HEARTBEAT, all_beats
from suites.analysis.consuming.fences import ELSEWHERE, FENCES
from suites.analysis.consuming.generations import JOIN
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.timing import SLACK_NS
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS
from suites.checks.consume_wire.lost_as_revoked import losses

CLASSIC, NEW_PROTOCOL = "CSM-GRP-12", "CSM-NGP-05"
ZOMBIE = Anomaly(
    "zombie",
    "{count:record} given to the application by members that knew that they were no longer in their group",
    Level.SHOULD,
)


class End(NamedTuple):
    """The end of a membership. The client knew at ``known_ns``, and it was no member until ``until_ns``."""

    requirement: str
    by: Asked
    known_ns: int
    until_ns: int


@view
def ends(evidence: Evidence) -> list[End]:
    """Return the ends of memberships that the clients certainly knew."""
    known = [(CLASSIC, loss.by, loss.known_ns) for loss in losses(evidence)]
    known += [
        (NEW_PROTOCOL, beat.now, beat.now.received_ns)
        for beats in all_beats(evidence).values()
        for beat in beats
        if beat.now.code in FENCES and (beat.now.member.epoch or 0) > 0
    ]
    return [
        End(requirement, by, at_ns, until_ns(evidence, by))
        for requirement, by, at_ns in known
        if at_ns is not None
    ]


@grants("looks-for-its-coordinator")
def until_ns(evidence: Evidence, by: Asked) -> int:
    """Return when the client joined again, or may have been unable to."""
    life, since_ns = lives(evidence)[by.process], by.request.arrived_ns
    after = [each for each in asked(evidence)[by.process] if each.request.arrived_ns > since_ns]
    joins = [each.sent_ns for each in after if _joins(each) or each.api == "FindCoordinator"]
    moved = [each.answer.t_ns for each in after if each.answer is not None and each.code in ELSEWHERE]
    connection = connections(evidence).get(by.request.conn)
    gone_ns = FOR_EVER if connection is None else connection.closed_ns
    closing_ns = life.end_ns if life.closing_ns is None else life.closing_ns
    return min([*joins, *moved, gone_ns, closing_ns])


def _joins(each: Asked) -> bool:
    return each.api == JOIN or (each.api == HEARTBEAT and each.member.epoch == 0)


def given(evidence: Evidence, end: End) -> Iterator[Delivery]:
    """Yield the records that the application got although its client knew of the end."""
    again_ns: dict[int, int] = {}
    for event in evidence.history:
        is_later = event.producer == end.by.process and event.mono_ns > end.by.request.arrived_ns
        if is_later and isinstance(event, PartitionsAssigned):
            for each in event.partitions:
                again_ns.setdefault(each.partition, event.mono_ns)
    for got in accounting.deliveries(evidence):
        last_ns = min(end.until_ns, again_ns.get(got.partition, FOR_EVER))
        if got.member == end.by.process and end.known_ns + SLACK_NS < got.polled_ns < last_ns:
            yield got


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each protocol. Inconclusive if something stalled in between."""
    findings = []
    for requirement in (CLASSIC, NEW_PROTOCOL):
        cases = [
            (end, got)
            for end in ends(evidence)
            if end.requirement == requirement
            for got in given(evidence, end)
        ]
        if cases:
            found = ZOMBIE.found(len(cases), [_sample(*case) for case in cases], requirement)
            doubt_if_unreadable(found, unread_of_members(evidence))
            for end, got in cases:
                doubt_if_stalled(evidence, found, end.by.request.arrived_ns, got.polled_ns)
            findings.append(found)
    return findings


def _sample(end: End, got: Delivery) -> Sample:
    return {
        "member": got.member,
        "partition": got.partition,
        "offset": got.offset,
        "told_by": end.by.api,
        "known_ns": end.known_ns,
        "polled_ns": got.polled_ns,
    }


def _in_classic(evidence: Evidence) -> int:
    return sum(end.requirement == CLASSIC for end in ends(evidence))


def _in_new_protocol(evidence: Evidence) -> int:
    return sum(end.requirement == NEW_PROTOCOL for end in ends(evidence))


CHECK = Check(
    name="zombie",
    summary="Records that a member gives its application after it knew that it was out of its group.",
    requirements=(
        Requirement(CLASSIC, Level.SHOULD, arises=_in_classic),
        Requirement(NEW_PROTOCOL, Level.MUST, arises=_in_new_protocol),
    ),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="reads_on_without_its_group",
    run=run,
    workloads=frozenset({"consume"}),
)
