"""When time cannot be trusted: a client that was starved, or a broker that stood still, is nobody's broken promise.

Three witnesses. The harness's own pulse: where it was late, frames were, and a client may have given up requests of
which the witness's rows say that they were answered in time. The client's heartbeat (``stats``, once a second): a gap
of seconds means that its process did not run. And the broker's answers as they come to the witness, before any rule
there keeps, changes or stops them, each from the moment at which the broker had its request: if one takes seconds, the
broker stood still. A client that is late then is not to blame, and nothing that rests on time can be judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from harness.judging.availability import Span
from harness.model.anomaly import ReasonKind
from harness.model.contract import ShutdownComplete, Stats
from harness.model.evidence import Evidence, view
from harness.model.rows import Fate, Frame, FrameKind
from harness.model.units import NS_PER_MS
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

#: More than one missed heartbeat; below request.timeout.ms, whose running out is then no sign of anything.
STARVED_MS = 2_500
#: A broker on this machine answers within milliseconds.
SILENT_MS = 2_000


@view
def silences(evidence: Evidence) -> list[Span]:
    """The times between two heartbeats, from the first event to the end; none for a client that sends none."""
    beats = [event.mono_ns for event in evidence.history if isinstance(event, Stats)]
    if not beats:
        return []
    ended = [event.mono_ns for event in evidence.history if isinstance(event, ShutdownComplete)]
    end_ns = ended[0] if ended else evidence.record.phases.final_ns
    moments = sorted([evidence.history[0].mono_ns, *beats, *([end_ns] if end_ns else [])])
    return [Span(*ends) for ends in pairwise(moments)]


def client_stalls(evidence: Evidence) -> list[Span]:
    """When the client's process did not run, by the gaps between its heartbeats."""
    return [silence for silence in silences(evidence) if silence.length_ms > STARVED_MS]


@view
def slow_answers(evidence: Evidence) -> list[Span]:
    """How long the broker had each request, until its answer came to the witness, or its connection ended.

    A request of which no answer is asked (acks=0) is none.
    """
    waiting: dict[tuple[int, int | None], Frame] = {}
    found: list[Span] = []
    for frame in sorted((*evidence.frames, *evidence.stopped), key=_at_broker_ns):
        if frame.kind is FrameKind.REQUEST:
            if frame.fate is not Fate.STOPPED and frame.acks != 0:
                waiting[frame.conn, frame.correlation_id] = frame
            continue
        for request in _settled(frame, waiting):
            found.append(Span(request.t_ns, _at_broker_ns(frame)))
            del waiting[request.conn, request.correlation_id]
    return found


def broker_stalls(evidence: Evidence) -> list[Span]:
    """When a broker had a request and did not answer it, for longer than it takes."""
    return [answer for answer in slow_answers(evidence) if answer.length_ms > SILENT_MS]


def harness_stalls(evidence: Evidence) -> list[Span]:
    """When the harness did not keep time."""
    return [Span(*stall) for stall in evidence.record.harness_stalls]


def long_harness_stalls(evidence: Evidence) -> list[Span]:
    """Those that last as long as a broker's silence does; shorter ones are within the slack of limits of seconds."""
    return [stall for stall in harness_stalls(evidence) if stall.length_ms > SILENT_MS]


def late_harness(evidence: Evidence) -> list[Span]:
    """When the harness was late by more than the slack of moments within a request timeout, by however many stalls.

    A machine that lets the harness wait now and then may let others wait for most of the time.
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
    """How long the harness did not keep time within a request timeout of this stretch: then one may have passed unseen.

    0 where it was late by no more than the slack that moments have in any case.
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


def stalled_ns(stalls: Iterable[Span], begin_ns: int, end_ns: int) -> int:
    """How much of a stretch of time lies in these."""
    return sum(stall.overlap_ns(begin_ns, end_ns) for stall in stalls)


def stalled_by(evidence: Evidence, begin_ns: int, end_ns: int) -> tuple[ReasonKind, int] | None:
    """What stalled in a stretch of time, and for how many ms of it; None if nothing did."""
    stalls = {
        CLIENT_STALLED: client_stalls(evidence),
        HARNESS_STALLED: long_harness_stalls(evidence),
        BROKER_STALLED: broker_stalls(evidence),
    }
    lengths_ns = {kind: stalled_ns(spans, begin_ns, end_ns) for kind, spans in stalls.items()}
    return next(((kind, ns // NS_PER_MS) for kind, ns in lengths_ns.items() if ns), None)


def _at_broker_ns(frame: Frame) -> int:
    return frame.t_ns if frame.kind is FrameKind.REQUEST else frame.arrived_ns


def _settled(frame: Frame, waiting: Mapping[tuple[int, int | None], Frame]) -> list[Frame]:
    """The requests that wait no longer when this comes from the broker, or ends the connection."""
    here = [request for request in waiting.values() if request.conn == frame.conn]
    if frame.kind is not FrameKind.RESPONSE:
        return here if frame.kind is FrameKind.CLOSE else []
    # A rule may have given the answer another id; then it is that of the oldest, for a broker answers in order.
    asked = waiting.get((frame.conn, frame.correlation_id)) or next(
        (request for request in here if request.api == frame.api), None
    )
    return [] if asked is None else [asked]
