"""# requests-in-flight

## What it does

Counts the Produce requests that a client has sent on one connection and cannot have an answer to yet.

## Why it is bad

An application that sets max.in.flight.requests.per.connection to 1 relies on it for order. If a request is
sent before the previous one is answered, it may be stored first when the previous one is sent again. A broker
remembers the last five batches of an idempotent producer per partition. With more of them outstanding, it may
not recognize a duplicate.

## How it is judged per guarantee

- **all**: more requests on a connection than max.in.flight.requests.per.connection are a difference (SHOULD).
  With a limit of 1, two unanswered batches of one partition are forbidden.
- **idempotent, transactional**: more than five unanswered batches of one partition are forbidden, whatever
  the setting.

## What it needs

The witness's frames, the history and the faults as they happened. The count is a lower bound. A request that
is unanswered at the witness when another passes was unanswered at the client when it sent the other, since a
request passes after it was sent and an answer before it is received. If a `latency` fault was certainly in
effect, its delays are added. A client may give up a request that is older than request.timeout.ms and keep
the connection, and a request cannot be older than its youngest record; so only requests whose records are all
younger than the timeout count. Nothing counts on a connection after an answer that was out of order or
duplicated, with acks=0, or in the rows of older runs, which lack timestamps. A client that cannot be given
the limit, or the timeout, is not judged by the limit.

## References

NET-INF-03, PRD-ACC-08, PRD-IDM-04 (KAFKA-5494).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.rows import Disposition, Finding, Frame, FrameKind
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Guarantee, Level
from harness.plugins.check import Check, Requirement
from suites.analysis.attempts import REMEMBERED
from suites.analysis.excuses import grants
from suites.analysis.promises import EVERY, EXACTLY_ONCE
from suites.analysis.response_order import out_of_turn_ns
from suites.checks.wire.on_the_way import had_from_ns, sent_by_ns, wall_offsets_ns
from suites.checks.wire.sent import sent

REQUESTS = Anomaly(
    "too-many-in-flight",
    "{count:request} sent with up to {most} in flight; the limit is {limit}",
    Level.SHOULD,
)
BATCHES = Anomaly(
    "too-many-batches",
    "{count:request} sent with up to {most} batches of a partition in flight; the limit is {limit}",
)
LIMIT, TIMEOUT = "max.in.flight.requests.per.connection", "request.timeout.ms"

Lane = tuple[str, int]


class InFlight(NamedTuple):
    """A request, and how many requests and batches per partition were in flight when it was sent, including itself."""

    frame: Frame
    requests: int
    batches: int


@view
def in_flight(evidence: Evidence) -> list[InFlight]:
    """Return the Produce requests that ask for an answer, with what was certainly in flight at the same time."""
    requests: dict[int, tuple[Frame, int | None, set[Lane], int | None]] = {}
    for each in sent(evidence):
        frame, part = each.frame, each.part
        answered_ns = each.answer.t_ns if each.answer else None
        _, _, lanes, youngest_ms = requests.get(id(frame), (frame, None, set(), part.max_timestamp_ms))
        lanes.add((part.topic, part.partition))
        if youngest_ms is not None and part.max_timestamp_ms is not None:
            youngest_ms = max(youngest_ms, part.max_timestamp_ms)
        requests[id(frame)] = frame, answered_ns, lanes, youngest_ms
    by_connection: dict[int, list[_Request]] = {}
    for frame, answered_ns, lanes, youngest_ms in requests.values():
        if frame.acks not in (None, 0) and youngest_ms is not None:
            had_ns = None if answered_ns is None else had_from_ns(evidence, frame.broker, answered_ns)
            sent_ns = sent_by_ns(evidence, frame.broker, frame.arrived_ns)
            request = _Request(frame, sent_ns, had_ns, frozenset(lanes), youngest_ms)
            by_connection.setdefault(frame.conn, []).append(request)
    return [each for conn, made in by_connection.items() for each in _counted(evidence, conn, made)]


class _Request(NamedTuple):
    """A Produce request.

    ``sent_ns`` is the latest time at which it can have been sent. ``had_ns`` is the earliest time at which
    the client can have had its answer.
    """

    frame: Frame
    sent_ns: int
    had_ns: int | None
    lanes: frozenset[Lane]
    youngest_ms: int


@view
@grants("confused-by-answers")
def _confused_ns(evidence: Evidence) -> dict[int, int]:
    """Map each connection to when its client may have matched an answer to the wrong request."""
    doubled: dict[int, int] = {}
    for frame in evidence.frames:
        if frame.kind is FrameKind.RESPONSE and frame.disposition is Disposition.ANNOTATED:
            doubled.setdefault(frame.conn, frame.t_ns)
    confused = dict(out_of_turn_ns(evidence))
    return confused | {conn: min(t_ns, confused.get(conn, t_ns)) for conn, t_ns in doubled.items()}


def _counted(evidence: Evidence, conn: int, requests: list[_Request]) -> Iterator[InFlight]:
    timeout_ms = int(evidence.record.spec.config[TIMEOUT])
    offset_ns = wall_offsets_ns(evidence)[1]
    end_ns = _confused_ns(evidence).get(conn)
    out: list[_Request] = []
    for request in sorted(requests, key=lambda request: request.frame.arrived_ns):
        if end_ns is not None and request.frame.arrived_ns >= end_ns:
            return
        wall_ms = -(-(request.frame.arrived_ns + offset_ns) // NS_PER_MS)
        out = [
            other
            for other in out
            if _is_unanswered(other, request) and not _may_be_given_up(other, wall_ms, timeout_ms)
        ]
        out.append(request)
        batches = max(sum(lane in other.lanes for other in out) for lane in request.lanes)
        yield InFlight(request.frame, len(out), batches)


def _is_unanswered(other: _Request, request: _Request) -> bool:
    return other.had_ns is None or other.had_ns > request.sent_ns


@grants("given-up-in-flight")
def _may_be_given_up(request: _Request, wall_ms: int, timeout_ms: int) -> bool:
    """True if even the youngest record of the request is older than the request timeout."""
    return wall_ms - request.youngest_ms >= timeout_ms


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding per requirement, which counts requests."""
    if TIMEOUT in evidence.record.not_set:
        return []
    sends, found = in_flight(evidence), []
    limit = _limit(evidence)
    if limit is not None and (over := [each for each in sends if each.requests > limit]):
        most = max(each.requests for each in over)
        found.append(
            REQUESTS.found(len(over), map(_sample, over), requirement="NET-INF-03", most=most, limit=limit)
        )
    if limit == 1 and (over := [each for each in sends if each.batches > 1]):
        found.append(_of_batches(over, "PRD-ACC-08", 1))
    if evidence.record.spec.guarantee in EXACTLY_ONCE and (
        over := [each for each in sends if each.batches > REMEMBERED]
    ):
        found.append(_of_batches(over, "PRD-IDM-04", REMEMBERED))
    return found


def _of_batches(over: list[InFlight], requirement: str, limit: int) -> Finding:
    most = max(each.batches for each in over)
    return BATCHES.found(len(over), map(_sample, over), requirement=requirement, most=most, limit=limit)


@grants("limit-not-given")
def _limit(evidence: Evidence) -> int | None:
    """Return the limit that the client says it applies, or None if there is none."""
    record = evidence.record
    if LIMIT in record.not_set or LIMIT not in record.spec.config:
        return None
    return int(record.spec.config[LIMIT])


def _sample(each: InFlight) -> Sample:
    return {
        "conn": each.frame.conn,
        "correlation_id": each.frame.correlation_id,
        "at_ns": each.frame.arrived_ns,
        "in_flight": each.requests,
        "batches": each.batches,
    }


def _several(counts: Iterable[int]) -> int:
    return sum(count > 1 for count in counts)


def _requests(evidence: Evidence) -> int:
    """Return how often the limit is known to have been reached.

    With a limit of 1, every request reaches it; otherwise a second request in flight does.
    """
    limit, counts = _limit(evidence), [each.requests for each in in_flight(evidence)]
    if limit is None or TIMEOUT in evidence.record.not_set:
        return 0
    return len(counts) if limit == 1 else _several(counts)


def _muted(evidence: Evidence) -> int:
    return len(in_flight(evidence)) if _limit(evidence) == 1 else 0


def _batches(evidence: Evidence) -> int:
    return _several(each.batches for each in in_flight(evidence))


CHECK = Check(
    name="requests-in-flight",
    summary=(
        "More unanswered requests than the client's limit allows, or more batches than a broker remembers."
    ),
    requirements=(
        Requirement("NET-INF-03", Level.SHOULD, EVERY, arises=_requests),
        Requirement("PRD-ACC-08", Level.MUST, EVERY, arises=_muted),
        Requirement("PRD-IDM-04", Level.MUST, EXACTLY_ONCE, arises=_batches),
    ),
    guarantees=frozenset(Guarantee),
    requires=frozenset({"frames", "history", "faults"}),
    killed_mutant="one_too_many_in_flight",
    run=run,
)
