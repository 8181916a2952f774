"""# session-ignored

## What it does

Looks for members whose coordinator answers nothing for their whole session timeout, and that go on as if they were
members. They must look for their coordinator again: send FindCoordinator, or give the connection up.

## Why it is bad

After a session without a heartbeat the coordinator removes the member, and others get its partitions. A member that
waits for the answer of a broker that is stuck, or behind a broken path, reads on without knowing, and finds the new
coordinator only when its request times out.

## How it is judged per guarantee

- **at-least-once, at-most-once**: a difference if it takes longer than two seconds beyond the session timeout
  (``session-ignored``), and forbidden if it takes request.timeout.ms more, because a request without an answer has
  ended by then (``coordinator-trusted-for-ever``).

The time counts from the last answer of the coordinator, if the member has sent a heartbeat since. Joining, leaving, a
request on another connection, and the end of the connection count as well. Not judged is a member that is
frozen or works for a second on one turn, and a time in which a fault may hide what the client does from the witness.

## What it needs

The witness's frames and the members' histories. If the process, a broker or the harness stalled meanwhile, the trial is
inconclusive.

## References

CSM-GRP-08 (``Heartbeat#sessionTimeoutExpired``, ``AbstractCoordinator.HeartbeatThread``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.exchanges import FOR_EVER, connections
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.consuming.asked import Asked, of_group, unread_of_members
from suites.analysis.consuming.generations import Generation, generations
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.timing import REQUEST, setting_ms
from suites.analysis.consuming.timing import SLACK_NS as WORK_NS
from suites.analysis.disturbance import doubt_if_stalled
from suites.analysis.excuses import grants
from suites.analysis.findings import doubt_if_unreadable
from suites.analysis.promises import BY_COMMITS
from suites.analysis.way import SLACK_NS, Effect, way

IGNORED = Anomaly(
    "session-ignored",
    "{count:time} a member trusted a silent coordinator for up to {most_ms} ms, beyond its session of {limit_ms} ms",
    Level.SHOULD,
)
TRUSTED = Anomaly(
    "coordinator-trusted-for-ever",
    "{count:time} a member trusted a silent coordinator for up to {most_ms} ms, beyond its session of {limit_ms} ms "
    "and its request timeout",
)
HEARTBEAT, FIND = "Heartbeat", "FindCoordinator"
BEATS: Final = ("SyncGroup", HEARTBEAT)
#: How much longer than its session a member may take: it may look at its clock once a second.
LATE_NS: Final = 2_000 * NS_PER_MS
#: What keeps the witness from seeing what a client does.
HIDING: Final = frozenset({Effect.HIDES_ATTEMPTS, Effect.HOLDS_REQUESTS, Effect.HIDES_ENDS})


class Silence(NamedTuple):
    """A time in which a member's coordinator answered nothing, until it did, or until the member gave it up.

    ``beaten_ns`` is when it last answered a heartbeat, or gave the member its assignment.
    """

    process: str
    span: Span
    beaten_ns: int
    session_ns: int

    @property
    def length_ns(self) -> int:
        """How long it lasted."""
        return self.span.end_ns - self.span.begin_ns


@view
def silences(evidence: Evidence) -> list[Silence]:
    """Return the silences at whose end no heartbeat had succeeded for about a session, if they can be judged."""
    return list(_silences(evidence))


def _silences(evidence: Evidence) -> Iterator[Silence]:
    for of in generations(evidence).values():
        for generation in of:
            for each in _of(evidence, generation):
                is_over = each.span.end_ns - each.beaten_ns >= each.session_ns - SLACK_NS
                if is_over and not _is_hidden(evidence, each):
                    yield each


def _of(evidence: Evidence, generation: Generation) -> Iterator[Silence]:
    session_ms = generation.joined.member.session_timeout_ms
    answered = [each for each in generation.later if each.answer is not None]
    answers_ns = sorted(each.answer.t_ns for each in answered if each.answer is not None)
    beaten_ns = [each.answer.t_ns for each in answered if each.answer is not None and each.api in BEATS]
    if session_ms is None or not generation.synced:
        return
    life = lives(evidence)[generation.process]
    last_ns = life.end_ns if life.closing_ns is None else life.closing_ns
    beats = [each for each in generation.later if each.api == HEARTBEAT]
    for begin_ns, next_ns in pairwise((*answers_ns, FOR_EVER)):
        after = bisect_right(beats, begin_ns, key=lambda each: each.request.arrived_ns)
        beat = beats[after] if after < len(beats) else None
        if beat is not None and beat.request.arrived_ns < next_ns:
            end_ns = min(next_ns, last_ns, _given_up_ns(evidence, generation, beat, begin_ns))
            if end_ns > begin_ns:
                since_ns = max((ns for ns in beaten_ns if ns <= begin_ns), default=begin_ns)
                yield Silence(generation.process, Span(begin_ns, end_ns), since_ns, session_ms * NS_PER_MS)


def _given_up_ns(evidence: Evidence, generation: Generation, beat: Asked, since_ns: int) -> int:
    """Return when a member gave up the coordinator that owes it the answer to a heartbeat."""
    searches = of_group(evidence, FIND)[generation.process]
    others = [each for each in generation.later if each.request.conn != beat.request.conn]
    ended = [generation.ended_by] if generation.ended_by is not None else []
    moments = [each.sent_ns for each in (*searches, *others, *ended) if each.request.arrived_ns > since_ns]
    connection = connections(evidence).get(beat.request.conn)
    if connection is not None and connection.closed_ns > since_ns:
        moments.append(connection.closed_ns)
    return min(moments, default=FOR_EVER)


@grants("hidden-from-the-witness")
def _is_hidden(evidence: Evidence, silence: Silence) -> bool:
    """Return whether the member may have acted unseen, or could not act."""
    span, life = silence.span, lives(evidence)[silence.process]
    busy = any(nap.overlap_ns(*span) for nap in life.frozen) or any(
        turn.overlap_ns(*span) > WORK_NS for turn in life.turns
    )
    return busy or any(fault.effects & HIDING and fault.meets(*span) for fault in way(evidence).faults)


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind. Inconclusive if something stalled meanwhile."""
    request_ns = setting_ms(evidence, REQUEST) * NS_PER_MS
    broken: dict[Anomaly, list[Silence]] = {}
    for each in silences(evidence):
        over_ns = each.length_ns - each.session_ns - LATE_NS
        if over_ns > 0:
            broken.setdefault(TRUSTED if over_ns > request_ns else IGNORED, []).append(each)
    found = []
    for anomaly, cases in broken.items():
        finding = anomaly.found(
            len(cases),
            map(_sample, cases),
            most_ms=max(each.length_ns for each in cases) // NS_PER_MS,
            limit_ms=min(each.session_ns for each in cases) // NS_PER_MS,
        )
        doubt_if_unreadable(finding, unread_of_members(evidence))
        for each in cases:
            doubt_if_stalled(evidence, finding, *each.span)
        found.append(finding)
    return found


def _sample(silence: Silence) -> Sample:
    return {
        "member": silence.process,
        "since_ns": silence.span.begin_ns,
        "silent_ms": silence.length_ns // NS_PER_MS,
    }


def _arises(evidence: Evidence) -> int:
    return len(silences(evidence))


CHECK = Check(
    name="session-ignored",
    summary="Members that go on trusting a coordinator that answers nothing for a whole session.",
    requirements=(Requirement("CSM-GRP-08", Level.MUST, arises=_arises),),
    guarantees=BY_COMMITS,
    requires=frozenset({"frames", "history"}),
    killed_mutant="session_never_ends",
    run=run,
    workloads=frozenset({"consume"}),
)
