"""# rejoins-late

## What it does

Measures how long each member takes to join again after its coordinator has told it that the group rebalances.

## Why it is bad

All members of a group wait for the last one: until it joins, the others get no new assignment, and with an eager
assignor they read nothing. When the rebalance timeout is over, the coordinator removes the member, and its partitions
are read by another one while it still works on them.

## How it is judged per guarantee

- **at-least-once, at-most-once**: forbidden. A member that is told REBALANCE_IN_PROGRESS must join again, or leave,
  within the rebalance timeout that it has announced itself. It must not wait for half of it until the coordinator has
  removed it.

The time of the application's turns and that of a frozen process do not count. Not judged: a member that closes or is
killed meanwhile, one whose coordinator moves, and a time in which a fault acts on the network or the brokers.

## What it needs

The witness's frames and the members' histories. If the process, a broker or the harness stalled meanwhile, the trial is
inconclusive.

## References

CSM-GRP-06 (``AbstractCoordinator.HeartbeatResponseHandler``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.wire.error_table import BY_NAME
from suites.analysis.consuming.asked import Asked, of_group, unread_of_members
from suites.analysis.consuming.lives import Life, lives
from suites.analysis.consuming.unaware import during_cut
from suites.analysis.disturbance import doubt_if_stalled, stalled_ns
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

LATE = Anomaly(
    "rejoins-late", "{count:time} a member did not join again for up to {most_ms} ms of a rebalance"
)
JOIN: Final = "JoinGroup"
REBALANCES, UNKNOWN = (BY_NAME[name].code for name in ("REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID"))
ELSEWHERE: Final = tuple(
    BY_NAME[name].code
    for name in ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
)


class Told(NamedTuple):
    """A member was told that its group rebalances. It has ``limit_ns`` to react, and took ``took_ns``."""

    process: str
    span: Span
    took_ns: int
    limit_ns: int
    is_removed: bool

    @property
    def is_late(self) -> bool:
        """Whether it took too long, or let its coordinator remove it."""
        return self.took_ns > self.limit_ns or (self.is_removed and self.took_ns > self.limit_ns // 2)


def told(evidence: Evidence) -> Iterator[Told]:
    """Yield each first answer since a join that says that the group rebalances, if the reaction can be judged."""
    for process, requests in of_group(evidence).items():
        life = lives(evidence)[process]
        for at, each in enumerate(requests):
            if each.code == REBALANCES and each.api != JOIN and each.received_ns is not None:
                joined = _last_join(requests[:at])
                if joined is not None and not _was_told(requests[:at]):
                    yield from _reaction(evidence, life, joined, each, requests[at + 1 :])


def _last_join(before: list[Asked]) -> Asked | None:
    return next((each for each in reversed(before) if each.api == JOIN), None)


def _was_told(before: list[Asked]) -> bool:
    for each in reversed(before):
        if each.api == JOIN:
            return False
        if each.code == REBALANCES:
            return True
    return False


def _reaction(
    evidence: Evidence, life: Life, joined: Asked, said: Asked, later: list[Asked]
) -> Iterator[Told]:
    limit_ms = joined.member.rebalance_timeout_ms or joined.member.session_timeout_ms
    if limit_ms is None or said.received_ns is None:
        return
    last_ns = life.end_ns if life.closing_ns is None else life.closing_ns
    reacted_ns, is_removed = last_ns, False
    for each in later:
        if each.code in ELSEWHERE:
            return
        removes = each.code == UNKNOWN and each.answer is not None and each.answer.fault is None
        if removes or each.api in (JOIN, "LeaveGroup"):
            is_removed, reacted_ns = removes, min(last_ns, each.request.arrived_ns)
            break
    span = Span(said.received_ns, max(said.received_ns, reacted_ns))
    if not during_cut(evidence, span):
        yield Told(life.process, span, _free_ns(life, span), limit_ms * NS_PER_MS, is_removed)


@grants("works-or-frozen-before-it-joins")
def _free_ns(life: Life, span: Span) -> int:
    """Return how much of a period the process had for the group."""
    return span.end_ns - span.begin_ns - stalled_ns((*life.turns, *life.frozen), *span)


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding. Inconclusive if something stalled meanwhile."""
    late = [each for each in told(evidence) if each.is_late]
    if not late:
        return []
    samples: list[Sample] = [
        {"member": each.process, "told_ns": each.span.begin_ns, "took_ms": each.took_ns // NS_PER_MS}
        for each in late
    ]
    most_ms = max(each.took_ns for each in late) // NS_PER_MS
    found = LATE.found(len(late), samples, most_ms=most_ms)
    doubt_if_unreadable(found, unread_of_members(evidence))
    for each in late:
        doubt_if_stalled(evidence, found, *each.span)
    return [found]


def _arises(evidence: Evidence) -> int:
    return sum(1 for _ in told(evidence))


CHECK = Check(
    name="rejoins-late",
    summary="Members that do not join again when their group rebalances.",
    requirements=(Requirement("CSM-GRP-06", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="ignores_rebalances",
    run=run,
    workloads=frozenset({"consume"}),
)
