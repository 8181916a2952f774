"""# stays-without-polls

## What it does

Looks for members whose application works on a turn for longer than max.poll.interval.ms, and which stay in their group
meanwhile. A dynamic member must say by LeaveGroup that it leaves (``stays-without-polls``), and join again once the
application polls (``stays-away``). A static one must stop its heartbeats (``heartbeats-without-polls``).

## Why it is bad

Heartbeats prove that a process runs, and not that its application makes progress. If a stuck application keeps its
partitions, no member reads them, and the group looks healthy.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. This is what Java's consumer does since KIP-62. A client without such a
  limit is not judged, even if it takes max.poll.interval.ms for how long a rebalance may take.

A turn is judged if it takes a second longer than it may, and the process is a member all the time: its coordinator has
not removed it, and it is neither frozen nor closed. A member is back if it joins again within a session and a request
timeout. Not judged is a time in which a fault acts on the network or the brokers.

## What it needs

The witness's frames and the members' histories. If the process, a broker or the harness stalled meanwhile, the trial is
inconclusive.

## References

CSM-GRP-09 (``AbstractCoordinator.HeartbeatThread``, KIP-62, KIP-345).
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
from suites.analysis.consuming.generations import JOIN, LEAVE, Generation, generations
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.timing import MAX_POLL, SLACK_NS, notice_ns, setting_ms
from suites.analysis.consuming.unaware import during_cut
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

STAYS = Anomaly(
    "stays-without-polls",
    "{count:time} a member did not leave, although its application worked longer than {limit_ms} ms",
    Level.SHOULD,
)
AWAY = Anomaly(
    "stays-away", "{count:time} a member did not join again once its application polled", Level.SHOULD
)
BEATS = Anomaly(
    "heartbeats-without-polls",
    "{count:time} a static member sent heartbeats, although its application worked longer than {limit_ms} ms",
    Level.SHOULD,
)
OVER: Final = tuple(BY_NAME[name].code for name in ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"))


class Late(NamedTuple):
    """A turn that took too long. ``due_ns`` is when the member had to leave, ``requests`` are those since it began."""

    generation: Generation
    turn: Span
    due_ns: int
    requests: tuple[Asked, ...]

    @property
    def process(self) -> str:
        """The member's process."""
        return self.generation.process

    @property
    def is_static(self) -> bool:
        """True if the member has a group.instance.id."""
        return bool(self.generation.joined.member.instance_id)

    def left(self) -> Asked | None:
        """Return the LeaveGroup that came during the turn."""
        return next((each for each in self.requests if each.api == LEAVE and self._is_during(each)), None)

    def beats(self) -> list[Asked]:
        """Return the heartbeats that came during the turn, a second or more after the member had to leave."""
        return [
            each
            for each in self.requests
            if each.api == "Heartbeat" and each.sent_ns > self.due_ns + SLACK_NS and self._is_during(each)
        ]

    def _is_during(self, request: Asked) -> bool:
        return request.request.arrived_ns <= self.turn.end_ns


def late(evidence: Evidence) -> Iterator[Late]:
    """Yield the turns that took a second longer than they may, of processes that were members until then."""
    limit_ns = setting_ms(evidence, MAX_POLL) * NS_PER_MS
    for process, of in generations(evidence).items():
        for turn in lives(evidence)[process].turns:
            due_ns = turn.begin_ns + limit_ns
            before = [each for each in of if each.began_ns < turn.begin_ns]
            if turn.end_ns >= due_ns + SLACK_NS and before:
                requests = tuple(
                    each for each in of_group(evidence)[process] if each.request.arrived_ns > turn.begin_ns
                )
                found = Late(before[-1], turn, due_ns, requests)
                if _is_member(evidence, found):
                    yield found


@grants("no-member-any-more")
def _is_member(evidence: Evidence, late: Late) -> bool:
    """Return whether the process was an undisturbed member until it had to leave."""
    life, span = lives(evidence)[late.process], Span(late.turn.begin_ns, late.due_ns + SLACK_NS)
    ended = late.generation.ended_by
    is_over = ended is not None and ended.request.arrived_ns < late.turn.begin_ns
    was_refused = any(
        each.code in OVER and each.answer is not None and each.answer.t_ns <= span.end_ns
        for each in late.generation.later
    )
    return (
        bool(late.generation.synced)
        and not is_over
        and not was_refused
        and life.covers(span)
        and not any(nap.overlap_ns(*span) for nap in life.frozen)
        and not during_cut(evidence, span)
    )


def _stays_away(evidence: Evidence, late: Late) -> bool:
    """Return whether a member that had left did not join in the time that it had after its turn."""
    life, left = lives(evidence)[late.process], late.left()
    span = Span(late.turn.end_ns, late.turn.end_ns + notice_ns(evidence))
    if left is None or during_cut(evidence, span) or not life.covers(span):
        return False
    busy = (*life.turns, *life.frozen)
    if any(each.begin_ns >= span.begin_ns and each.overlap_ns(*span) > SLACK_NS for each in busy):
        return False
    return not any(
        each.api == JOIN and left.request.arrived_ns < each.request.arrived_ns <= span.end_ns
        for each in late.requests
    )


def _broken(evidence: Evidence, late: Late) -> Iterator[tuple[Anomaly, int]]:
    """Yield what a member did wrong, with the end of the time in which it did."""
    if late.is_static:
        if late.beats():
            yield BEATS, late.turn.end_ns
    elif late.left() is None:
        yield STAYS, late.turn.end_ns
    elif _stays_away(evidence, late):
        yield AWAY, late.turn.end_ns + notice_ns(evidence)


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if something stalled meanwhile."""
    broken: dict[Anomaly, list[tuple[Late, int]]] = {}
    for each in late(evidence):
        for anomaly, until_ns in _broken(evidence, each):
            broken.setdefault(anomaly, []).append((each, until_ns))
    found = []
    for anomaly, cases in broken.items():
        finding = anomaly.found(
            len(cases), (_sample(each) for each, _ in cases), limit_ms=setting_ms(evidence, MAX_POLL)
        )
        doubt_if_unreadable(finding, unread_of_members(evidence))
        for each, until_ns in cases:
            doubt_if_stalled(evidence, finding, each.turn.begin_ns, until_ns)
        found.append(finding)
    return found


def _sample(late: Late) -> Sample:
    left = late.left()
    return {
        "member": late.process,
        "polled_ns": late.turn.begin_ns,
        "worked_ms": late.turn.length_ms,
        "left_ns": None if left is None else left.request.arrived_ns,
    }


def _arises(evidence: Evidence) -> int:
    return sum(1 for _ in late(evidence))


CHECK = Check(
    name="stays-without-polls",
    summary="Members that stay in their group although their application does not poll.",
    requirements=(Requirement("CSM-GRP-09", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="stays_without_polls",
    run=run,
    workloads=frozenset({"consume"}),
)
