"""# gives-up-otherwise

## What it does

Looks for members that give up other partitions over a rebalance than their assignor's protocol says: eager ones that
are assigned partitions while they still have some (``kept-over-a-rebalance``), cooperative ones that give up what they
keep (``revoked-what-it-keeps``), and cooperative ones that do not join again after they have given something up
(``no-second-rebalance``).

## Why it is bad

With an eager assignor any partition may have another owner after a rebalance, and an application that was not told
goes on with it. A cooperative group rebalances so that members keep what they can: an application that gives up more
stops for nothing. And no member reads what a cooperative one has given up until it joins again.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. This is how Java's consumer tells its listener. Whether a partition has
  two owners, or none, is judged by other checks.

The protocol is that of the assignor that JoinGroup's answer names: range, roundrobin and sticky are eager, and
cooperative-sticky is cooperative if the member offers no other one, because Java's consumer is eager otherwise. A
cooperative member must join again within half of its session timeout. Not judged is what an application gives up by
itself, what a member loses, and a second rebalance while the application works for a second on one turn, the process is
frozen, or a fault acts on the network or the brokers.

## What it needs

The witness's frames and the members' histories. If the process, a broker or the harness stalled meanwhile, the trial is
inconclusive.

## References

CSM-GRP-11 (``ConsumerCoordinator#onJoinPrepare``, ``#onJoinComplete``, KIP-429).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.consumer_contract import PartitionsRevoked
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import of_group, unread_of_members
from suites.analysis.consuming.calls import has_called
from suites.analysis.consuming.generations import EAGER, JOIN, LEAVE
from suites.analysis.consuming.handovers import Given, Told, given, told
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.timing import SLACK_NS
from suites.analysis.consuming.unaware import during_cut
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

KEPT = Anomaly(
    "kept-over-a-rebalance",
    "{count:time} an eager member was assigned partitions while it still had some",
    Level.SHOULD,
)
REVOKED = Anomaly(
    "revoked-what-it-keeps",
    "{count:time} a cooperative member gave up partitions that its last assignment gave it",
    Level.SHOULD,
)
ONCE = Anomaly(
    "no-second-rebalance",
    "{count:time} a cooperative member did not join again after it had given up partitions",
    Level.SHOULD,
)
#: Calls with which an application gives partitions up.
GIVING_UP: Final = ("close", "subscribe", "assign", "unsubscribe")


class Step(NamedTuple):
    """A call of the listener, and the last assignment before it. It is the first one since then if ``is_first``."""

    process: str
    told: Told
    given: Given
    is_first: bool


def steps(evidence: Evidence) -> Iterator[Step]:
    """Yield the calls of the listeners of members that were assigned something before, or nothing, by SyncGroup."""
    for process, calls in told(evidence).items():
        answers = given(evidence).get(process, [])
        seen: Given | None = None
        for call in calls:
            last = next((each for each in reversed(answers) if each.at_ns <= call.at_ns), None)
            if last is not None:
                yield Step(process, call, last, call.assigns and last is not seen)
                seen = last if call.assigns else seen


def rebalances(evidence: Evidence) -> list[Step]:
    """Return the first assignment that a listener was told after each SyncGroup of an eager member, but the first."""
    return [
        step
        for step in steps(evidence)
        if step.is_first
        and step.given.generation.protocol in EAGER
        and step.given is not given(evidence)[step.process][0]
    ]


def revocations(evidence: Evidence) -> list[Step]:
    """Return the revocations of cooperative members that only a rebalance explains."""
    return [
        step
        for step in steps(evidence)
        if isinstance(step.told.event, PartitionsRevoked)
        and step.told.partitions
        and step.given.generation.is_cooperative
        and not _has_reason(evidence, step)
    ]


@grants("gave-up-by-itself")
def _has_reason(evidence: Evidence, step: Step) -> bool:
    """Return whether the application gave partitions up, or the member has left, since its assignment."""
    since = Span(step.given.at_ns, step.told.at_ns)
    closing_ns = lives(evidence)[step.process].closing_ns
    left = step.given.generation.ended_by
    return (
        (closing_ns is not None and closing_ns <= step.told.at_ns)
        or has_called(evidence, step.process, since, GIVING_UP)
        or (left is not None and left.api == LEAVE and left.request.arrived_ns <= step.told.at_ns)
    )


def limit(step: Step) -> Span:
    """Return the time that a member has to join again after it has given something up."""
    session_ms = step.given.generation.joined.member.session_timeout_ms or 0
    return Span(step.told.at_ns, step.told.at_ns + session_ms * NS_PER_MS // 2)


def _is_alone(evidence: Evidence, step: Step) -> bool:
    """Return whether no rebalance followed a revocation, although the member could have joined."""
    life, span = lives(evidence)[step.process], limit(step)
    busy_ns = max((each.overlap_ns(*span) for each in (*life.frozen, *life.turns)), default=0)
    if not life.covers(span) or during_cut(evidence, span) or busy_ns > SLACK_NS:
        return False
    return not any(
        span.begin_ns <= each.request.arrived_ns <= span.end_ns
        for each in of_group(evidence, JOIN, LEAVE)[step.process]
    )


def _broken(evidence: Evidence) -> Iterator[tuple[Anomaly, Step, Span]]:
    """Yield what members did wrong, with the time of it."""
    for step in rebalances(evidence):
        if step.told.owned:
            yield KEPT, step, Span(step.given.at_ns, step.told.at_ns)
    for step in revocations(evidence):
        if step.told.partitions & step.given.partitions:
            yield REVOKED, step, Span(step.given.at_ns, step.told.at_ns)
        elif _is_alone(evidence, step):
            yield ONCE, step, limit(step)


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if something stalled meanwhile."""
    broken: dict[Anomaly, list[tuple[Step, Span]]] = {}
    for anomaly, step, span in _broken(evidence):
        broken.setdefault(anomaly, []).append((step, span))
    found = []
    for anomaly, cases in broken.items():
        finding = anomaly.found(len(cases), (_sample(step) for step, _ in cases))
        doubt_if_unreadable(finding, unread_of_members(evidence))
        for _, span in cases:
            if anomaly is ONCE:
                doubt_if_stalled(evidence, finding, *span)
        found.append(finding)
    return found


def _sample(step: Step) -> Sample:
    return {
        "member": step.process,
        "generation": step.given.generation.number,
        "protocol": step.given.generation.protocol,
        "given": _named(step.given.partitions),
        "had": _named(step.told.owned),
        "told": _named(step.told.partitions),
        "at_ns": step.told.at_ns,
    }


def _named(partitions: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(partitions)))


def _arises(evidence: Evidence) -> int:
    return len(rebalances(evidence)) + len(revocations(evidence))


CHECK = Check(
    name="gives-up-otherwise",
    summary="Members that give up other partitions over a rebalance than their protocol says.",
    requirements=(Requirement("CSM-GRP-11", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="revokes_what_it_keeps",
    run=run,
    workloads=frozenset({"consume"}),
)
