"""# session-lapsed

## What it does

Looks for members that run, whose network works, and from which their coordinator nevertheless receives nothing for
their whole session timeout.

## Why it is bad

The coordinator takes such a member for dead and gives its partitions to another one, while it still works on their
records. They are processed twice, and the group rebalances for each record that takes long.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference. Since KIP-62, Java's heartbeats do not depend on the application's
  work.

Within the session timeout that a member announced in JoinGroup, its coordinator must receive something: a Heartbeat, a
commit, or a request to join. The member's own interval is not judged. Not judged: a time in which a fault acts on the
network or the brokers, a member that was told to join again or that looks for its coordinator, and the application's
work for longer than max.poll.interval.ms, after which Java's consumer leaves by itself. The time for which the process
was frozen does not count.

## What it needs

The witness's frames and the members' histories. If the process, a broker or the harness stalled meanwhile, the trial is
inconclusive. In a group of KIP-848 the broker knows the session timeout, and the check judges nothing.

## References

CSM-GRP-05 (``AbstractCoordinator.HeartbeatThread``, KIP-62).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import Asked, of_group, unread_of_members
from suites.analysis.consuming.lives import Life, lives
from suites.analysis.consuming.timing import MAX_POLL, setting_ms
from suites.analysis.consuming.unaware import during_cut
from suites.analysis.disturbance import doubt_if_stalled, stalled_ns
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS

LAPSED = Anomaly(
    "session-lapsed",
    "{count:time} a coordinator received nothing from a member for {most_ms} ms, beyond its session of {limit_ms} ms",
    Level.SHOULD,
)
JOIN, SYNC, LEAVE = "JoinGroup", "SyncGroup", "LeaveGroup"
SIGNS: Final = (SYNC, "Heartbeat", "OffsetCommit")


class Silence(NamedTuple):
    """A time in which a member sent its coordinator nothing. ``silent_ns`` leaves out when it was frozen."""

    process: str
    span: Span
    silent_ns: int
    session_ns: int


@view
def silences(evidence: Evidence) -> list[Silence]:
    """Return the times between two signs of life of each member, if they can be judged."""
    return list(_silences(evidence))


def _silences(evidence: Evidence) -> Iterator[Silence]:
    for process, requests in of_group(evidence, JOIN, LEAVE, *SIGNS).items():
        life = lives(evidence)[process]
        late = _late_turns(evidence, life)
        session_ms: int | None = None
        for before, after in pairwise([*requests, None]):
            if before is None:
                break
            if before.api == JOIN:
                session_ms = before.member.session_timeout_ms
            elif session_ms is not None and before.api in SIGNS and before.code == 0:
                yield from _silence(evidence, life, late, before, after, session_ms * NS_PER_MS)


def _silence(
    evidence: Evidence, life: Life, late: list[Span], before: Asked, after: Asked | None, session_ns: int
) -> Iterator[Silence]:
    last_ns = life.end_ns if life.closing_ns is None else life.closing_ns
    end_ns = last_ns if after is None else min(last_ns, after.request.arrived_ns)
    span = Span(before.request.arrived_ns, end_ns)
    if (
        span.end_ns > span.begin_ns
        and not during_cut(evidence, span)
        and not any(turn.overlap_ns(*span) > 0 for turn in late)
    ):
        yield Silence(
            life.process, span, span.end_ns - span.begin_ns - stalled_ns(life.frozen, *span), session_ns
        )


@grants("worked-beyond-its-interval")
def _late_turns(evidence: Evidence, life: Life) -> list[Span]:
    """Return the turns after which Java's consumer leaves the group by itself."""
    limit_ns = setting_ms(evidence, MAX_POLL) * NS_PER_MS
    return [turn for turn in life.turns if turn.end_ns - turn.begin_ns >= limit_ns]


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding. Inconclusive if something stalled meanwhile."""
    lapsed = [each for each in silences(evidence) if each.silent_ns > each.session_ns]
    if not lapsed:
        return []
    samples: list[Sample] = [
        {"member": each.process, "since_ns": each.span.begin_ns, "silent_ms": each.silent_ns // NS_PER_MS}
        for each in lapsed
    ]
    found = LAPSED.found(
        len(lapsed),
        samples,
        most_ms=max(each.silent_ns for each in lapsed) // NS_PER_MS,
        limit_ms=min(each.session_ns for each in lapsed) // NS_PER_MS,
    )
    doubt_if_unreadable(found, unread_of_members(evidence))
    for each in lapsed:
        doubt_if_stalled(evidence, found, *each.span)
    return [found]


def _arises(evidence: Evidence) -> int:
    """Count the turns that take longer than a session, in which only independent heartbeats keep it."""
    sessions = {each.process: each.session_ns for each in silences(evidence)}
    return sum(
        turn.end_ns - turn.begin_ns > sessions[process]
        for process, life in lives(evidence).items()
        if process in sessions
        for turn in life.turns
    )


CHECK = Check(
    name="session-lapsed",
    summary="Members that run and let their session end.",
    requirements=(Requirement("CSM-GRP-05", Level.SHOULD, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="heartbeats_when_polled",
    run=run,
    workloads=frozenset({"consume"}),
)
