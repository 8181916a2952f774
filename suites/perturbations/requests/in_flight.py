"""More requests in flight than max.in.flight.requests.per.connection allows."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence, view
from harness.model.rows import Frame, FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.perturbations.batches import spots
from suites.perturbations.edits import inserted_id, refusing, with_config, with_frames_added
from suites.perturbations.exchanges import PRODUCE, Spot, answer_to, request_of, settled
from suites.perturbations.perturbation import channels, once

FRAMES = channels("frames")
#: NOT_LEADER_OR_FOLLOWER.
NOT_LEADER = 6
IN_FLIGHT = "max.in.flight.requests.per.connection"


@view
def _in_flight(evidence: Evidence) -> int:
    """Return the most Produce requests that waited together on one connection and were all answered there."""
    rows = [frame for frame in evidence.frames if frame.api == PRODUCE]
    answered = {_key(frame) for frame in rows if frame.kind is FrameKind.RESPONSE}
    waiting: Counter[int] = Counter()
    most = 0
    for frame in rows:
        if frame.kind is FrameKind.REQUEST and _key(frame) in answered:
            waiting[frame.conn] += 1
            most = max(most, waiting[frame.conn])
        elif frame.kind is FrameKind.RESPONSE:
            waiting[frame.conn] -= 1
    return most


def _key(frame: Frame) -> tuple[int, int | None]:
    return frame.conn, frame.correlation_id


def _several_in_flight(evidence: Evidence) -> bool:
    return _in_flight(evidence) > 1 and IN_FLIGHT not in evidence.record.not_set


def _one_configured(evidence: Evidence, _: str) -> Evidence:
    """The client was configured with one request in flight, and accepted the setting."""
    return with_config(evidence, max_in_flight_requests_per_connection=1)


def _burst(evidence: Evidence) -> list[Spot]:
    """Return batches whose request is the only one in its millisecond, so that others fit before its answer."""
    limit = int(evidence.record.spec.config.get(IN_FLIGHT, 5))
    moments = Counter(
        (frame.conn, frame.t_ns // NS_PER_MS) for frame in evidence.frames if frame.kind is FrameKind.REQUEST
    )
    apart = spots(
        lambda _, batch: (
            moments[_conn_and_ms(request_of(evidence, batch))] == 1
            and answer_to(evidence, batch).t_ns > request_of(evidence, batch).t_ns + limit
        )
    )
    return apart(evidence) if IN_FLIGHT not in evidence.record.not_set and limit < 100 else []


def _conn_and_ms(frame: Frame) -> tuple[int, int]:
    return frame.conn, frame.t_ns // NS_PER_MS


def _too_many(evidence: Evidence, spot: Spot) -> Evidence:
    """As many refused requests as the limit allows follow one request, before its answer."""
    batch = settled(evidence)[spot]
    limit = int(evidence.record.spec.config.get(IN_FLIGHT, 5))
    request, answer = request_of(evidence, batch), answer_to(evidence, batch)
    first = inserted_id(evidence)
    own = {"received_ns": None, "fault": None, "disposition": None}
    added = []
    for n in range(limit):
        added.append(changed(request, t_ns=request.t_ns + n + 1, correlation_id=first + n, **own))
        told = refusing(request, NOT_LEADER)
        added.append(changed(told, t_ns=answer.t_ns + n + 1, correlation_id=first + n, **own))
    return with_frames_added(evidence, added)


PERTURBATIONS = (
    Perturbation(
        "several-in-flight-of-one",
        channels("record"),
        "keeps several requests in flight although max.in.flight.requests.per.connection is 1",
        ("too-many-in-flight", "too-many-batches"),
        once(_several_in_flight),
        _one_configured,
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "one-in-flight-too-many",
        FRAMES,
        "keeps one more request in flight than max.in.flight.requests.per.connection",
        ("too-many-in-flight", "too-many-batches"),
        _burst,
        _too_many,
        verdict=Verdict.DIFFERS,
    ),
)
