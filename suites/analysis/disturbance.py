"""Stalls of the client, the broker or the harness. During one, lateness does not count against the client.

There are three sources:

- The pulse of the harness. If it was late, frames were late too, and a client may have given up requests that
  were answered in time according to the witness's rows.
- The heartbeat of the client (``stats``, once per second). A gap of seconds means that its process did not run. Each
  member of a group has its own. A member that a fault has stopped does not stall: that is what the fault is for.
- The answers of the broker as they arrive at the witness, before a rule there delays, changes or drops them.
  Each is measured from the moment at which the broker had its request. If one takes seconds, the broker
  stalled.

A client that is late during a stall is not to blame, and nothing that depends on time can be judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from harness.judging.availability import Span
from harness.model.anomaly import ReasonKind
from harness.model.contract import ShutdownComplete, Stats
from harness.model.evidence import Evidence, view
from harness.model.harness_events import MemberKilled
from harness.model.rows import Disposition, Finding, Frame, FrameKind
from harness.model.units import NS_PER_MS
from harness.plugins.check import Inconclusive
from suites.analysis.consuming.lives import lives, outside
from suites.analysis.excuses import grants
from suites.analysis.sending import sending
from suites.analysis.way import SLACK_NS

CLIENT_STALLED = ReasonKind(
    "client-stalled", "{of}: {told}, but the client process stalled for {stalled_ms} ms meanwhile"
)
BROKER_STALLED = ReasonKind(
    "broker-stalled", "{of}: {told}, but the broker left a request unanswered for {stalled_ms} ms"
)

HARNESS_STALLED = ReasonKind(
    "harness-stalled", "{of}: {told}, but the harness itself stalled for {stalled_ms} ms meanwhile"
)

#: More than one missed heartbeat, but less than request.timeout.ms, so that a request timeout during such a
#: gap proves nothing.
STARVED_MS = 2_500
#: A coordinator answers these when the other members have joined, or when the leader has assigned.
WAITING = ("JoinGroup", "SyncGroup")
#: A broker on the same machine normally answers within milliseconds.
SILENT_MS = 2_000


@view
def silences(evidence: Evidence) -> list[Span]:
    """Return the intervals between heartbeats of each process, from its first event to its end.

    Empty if the client sends none. The time for which the harness had stopped a member is left out.
    """
    return [span for name in lives(evidence) or ("",) for span in silences_of(evidence, name)]


def silences_of(evidence: Evidence, process: str) -> list[Span]:
    """Return the intervals between the heartbeats of a member's process; of all events if the name is empty."""
    history = [event for event in evidence.history if event.producer == process or not process]
    beats = [event.mono_ns for event in history if isinstance(event, Stats)]
    if not beats:
        return []
    ended = [event.mono_ns for event in history if isinstance(event, ShutdownComplete | MemberKilled)]
    end_ns = ended[0] if ended else evidence.record.phases.final_ns
    moments = sorted([history[0].mono_ns, *beats, *([end_ns] if end_ns else [])])
    frozen = lives(evidence)[process].frozen if process else []
    return [part for ends in pairwise(moments) for part in outside(Span(*ends), frozen)]


def client_stalls(evidence: Evidence) -> list[Span]:
    """Return the intervals in which a process of the client did not run, judged by the gaps between its heartbeats."""
    return [silence for silence in silences(evidence) if silence.length_ms > STARVED_MS]


@view
def slow_answers(evidence: Evidence) -> list[Span]:
    """Return how long the broker had each request, until its answer reached the witness or the connection ended.

    Left out are requests that expect no answer (acks=0), and those that wait for other members of a group.
    """
    waiting: dict[tuple[int, int | None], Frame] = {}
    found: list[Span] = []
    for frame in sorted((*evidence.frames, *evidence.blocked_frames), key=_at_broker_ns):
        if frame.kind is FrameKind.REQUEST:
            is_answered = frame.acks != 0 and frame.api not in WAITING
            if frame.disposition is not Disposition.BLOCKED and is_answered:
                waiting[frame.conn, frame.correlation_id] = frame
            continue
        for request in _settled(frame, waiting):
            found.append(Span(request.t_ns, _at_broker_ns(frame)))
            del waiting[request.conn, request.correlation_id]
    return found


def broker_stalls(evidence: Evidence) -> list[Span]:
    """Return the intervals in which the broker left a request unanswered for longer than ``SILENT_MS``."""
    return [answer for answer in slow_answers(evidence) if answer.length_ms > SILENT_MS]


def harness_stalls(evidence: Evidence) -> list[Span]:
    """Return the intervals in which the harness was late."""
    return [Span(*stall) for stall in evidence.record.harness_stalls]


def long_harness_stalls(evidence: Evidence) -> list[Span]:
    """Return the harness stalls longer than ``SILENT_MS``.

    Each shorter one is within the slack of limits of seconds. Many of them together are not.
    """
    return [stall for stall in harness_stalls(evidence) if stall.length_ms > SILENT_MS]


def late_harness(evidence: Evidence) -> list[Span]:
    """Return when the harness lost more than the slack within one request timeout, in any number of stalls.

    A machine that often makes the harness wait for a short time may make other processes wait for most of the
    time.
    """
    stalls, timeout_ns = harness_stalls(evidence), sending(evidence).timeout_ns
    found = []
    for stall in stalls:
        end_ns = stall.begin_ns + timeout_ns
        if stalled_ns(stalls, stall.begin_ns, end_ns) > SLACK_NS:
            found.append(
                Span(stall.begin_ns, max(other.end_ns for other in stalls if other.begin_ns < end_ns))
            )
    return found


@grants("harness-stalled")
def harness_stalled_ms(evidence: Evidence, begin_ns: int, end_ns: int) -> int:
    """Return the largest time in ms that the harness lost within one request timeout of this interval.

    A request timeout may have passed unseen in that time. The result is 0 if the harness was late by no more
    than the slack that every measured time has.
    """
    stalls, timeout_ns = harness_stalls(evidence), sending(evidence).timeout_ns
    late_ns = max(
        (
            stalled_ns(stalls, from_ns, min(from_ns + timeout_ns, end_ns))
            for from_ns in (max(begin_ns, stall.begin_ns) for stall in stalls)
        ),
        default=0,
    )
    return late_ns // NS_PER_MS if late_ns > SLACK_NS else 0


def doubt_if_stalled(evidence: Evidence, found: Finding, begin_ns: int, end_ns: int) -> None:
    """Raise Inconclusive if something stalled in the interval that explains ``found``."""
    if (stall := stalled_by(evidence, begin_ns, end_ns)) is not None:
        kind, stalled_ms = stall
        raise Inconclusive(kind.reason(of=found.anomaly, told=found.message, stalled_ms=stalled_ms))


def stalled_ns(stalls: Iterable[Span], begin_ns: int, end_ns: int) -> int:
    """Return how much of an interval lies within ``stalls``."""
    return sum(stall.overlap_ns(begin_ns, end_ns) for stall in stalls)


def stalled_by(evidence: Evidence, begin_ns: int, end_ns: int) -> tuple[ReasonKind, int] | None:
    """Return what stalled in an interval and for how many ms of it, or None if nothing stalled."""
    harness = harness_stalls(evidence)
    if stalled_ns(harness, begin_ns, end_ns) <= SILENT_MS * NS_PER_MS:
        harness = long_harness_stalls(evidence)
    stalls = {
        CLIENT_STALLED: client_stalls(evidence),
        HARNESS_STALLED: harness,
        BROKER_STALLED: broker_stalls(evidence),
    }
    lengths_ns = {kind: stalled_ns(spans, begin_ns, end_ns) for kind, spans in stalls.items()}
    return next(((kind, ns // NS_PER_MS) for kind, ns in lengths_ns.items() if ns), None)


def _at_broker_ns(frame: Frame) -> int:
    return frame.t_ns if frame.kind is FrameKind.REQUEST else frame.arrived_ns


def _settled(frame: Frame, waiting: Mapping[tuple[int, int | None], Frame]) -> list[Frame]:
    """Return the requests that stop waiting when this frame arrives from the broker or ends the connection."""
    here = [request for request in waiting.values() if request.conn == frame.conn]
    if frame.kind is not FrameKind.RESPONSE:
        return here if frame.kind is FrameKind.CLOSE else []
    # A rule may have changed the correlation id of the answer. It then answers the oldest request, since a
    # broker answers in order.
    asked = waiting.get((frame.conn, frame.correlation_id)) or next(
        (request for request in here if request.api == frame.api), None
    )
    return [] if asked is None else [asked]
