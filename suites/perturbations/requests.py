"""Requests that a client must not send: storms, too many at a time, too soon, too late, or to the wrong place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from msgspec.structs import replace as changed

from harness.contract import OpComplete
from harness.evidence import Evidence, view
from harness.outcome import Outcome, Verdict
from harness.rows import Frame, FrameKind, ProducePart
from harness.units import NS_PER_MS
from suites.checks.promises import DURABLE
from suites.perturbations.batches import BEHIND_NS, pair, spots
from suites.perturbations.edits import (
    inserted_id,
    with_config,
    with_frame,
    with_frames,
    with_frames_added,
    with_results,
)
from suites.perturbations.exchanges import (
    PRODUCE,
    Batch,
    Spot,
    answer_to,
    asked,
    exchanges,
    request_of,
    settled,
)
from suites.perturbations.pauses import paused, quiet
from suites.perturbations.perturbation import Perturbation, Place, channels, once

FRAMES = channels("frames")
NOT_LEADER, TOO_LARGE, NOT_AUTHORIZED = 6, 10, 29
IN_FLIGHT = "max.in.flight.requests.per.connection"
RETRIES, RETRY_EVERY_NS = 3_000, NS_PER_MS
REQUESTS_OF_METADATA, METADATA_EVERY_NS = 2_000, NS_PER_MS // 2
CONNECTIONS = 500
THROTTLE_MS = 10_000
#: Longer than any latency can have kept what was sent before.
AFTER_CLOSE_NS = 15_000 * NS_PER_MS


def _next_request(evidence: Evidence, at_ns: int) -> int:
    """The first Produce request from a moment on."""
    frames = enumerate(evidence.frames)
    return next(
        at
        for at, frame in frames
        if frame.t_ns >= at_ns and frame.api == PRODUCE and frame.kind is FrameKind.REQUEST
    )


def _storm(evidence: Evidence, at_ns: int) -> Evidence:
    """The next Produce request goes 3,000 times before it is taken, a millisecond apart; each is refused at once."""
    calm = paused(evidence, at_ns, (RETRIES + 1) * RETRY_EVERY_NS)
    request = evidence.frames[_next_request(evidence, at_ns)]
    refusals = tuple(
        [
            ProducePart(part.topic, part.partition, base_offset=-1, error_code=NOT_LEADER)
            for part in request.produce
        ]
    )
    refused = _answer(request, produce=refusals, error_codes=(NOT_LEADER,))
    added = _repeated(evidence, request, refused, at_ns, RETRIES, RETRY_EVERY_NS)
    return with_frames_added(calm, added)


def _answer(request: Frame, **fields: object) -> Frame:
    answer = changed(request, kind=FrameKind.RESPONSE, acks=None, timeout_ms=None, size_bytes=100)
    return changed(answer, **fields)


def _repeated(
    evidence: Evidence, request: Frame, answer: Frame, at_ns: int, count: int, every_ns: int
) -> list[Frame]:
    """So many such requests, each answered before the next one goes."""
    first = inserted_id(evidence)
    own = {"came_ns": None, "fault": None, "fate": None}
    frames = []
    for n in range(count):
        t_ns = at_ns + n * every_ns
        frames.append(changed(request, t_ns=t_ns, correlation_id=first + n, **own))
        frames.append(changed(answer, t_ns=t_ns + every_ns // 2, correlation_id=first + n, **own))
    return frames


@view
def _metadata(evidence: Evidence) -> tuple[Frame, Frame] | None:
    """A Metadata request of the trial and its answer."""
    asked_for: dict[tuple[int, int | None], Frame] = {}
    for frame in evidence.frames:
        if frame.api == "Metadata":
            key = (frame.conn, frame.correlation_id)
            if frame.kind is FrameKind.REQUEST:
                asked_for[key] = frame
            elif key in asked_for:
                return asked_for[key], frame
    return None


def _metadata_storm(evidence: Evidence, at_ns: int) -> Evidence:
    """2,000 Metadata requests in a second, on the connection that Produce goes by."""
    found = _metadata(evidence)
    assert found is not None
    conn = evidence.frames[_next_request(evidence, at_ns)]
    request, answer = (changed(frame, conn=conn.conn, broker=conn.broker) for frame in found)
    calm = paused(evidence, at_ns, (REQUESTS_OF_METADATA + 1) * METADATA_EVERY_NS)
    return with_frames_added(
        calm, _repeated(evidence, request, answer, at_ns, REQUESTS_OF_METADATA, METADATA_EVERY_NS)
    )


def _heeds_nothing(evidence: Evidence) -> list[Spot]:
    """Batches whose answer was followed by a further request on its connection, not at once but within ten seconds."""
    asked_ns: dict[int, list[int]] = {}
    for frame in evidence.frames:
        if frame.api == PRODUCE and frame.kind is FrameKind.REQUEST:
            asked_ns.setdefault(frame.conn, []).append(frame.arrived_ns)
    found = []
    for spot, batch in settled(evidence).items():
        answer = answer_to(evidence, batch)
        late_ms = ((t_ns - answer.t_ns) // NS_PER_MS for t_ns in asked_ns[answer.conn])
        if any(1_000 < each < THROTTLE_MS - 1_000 for each in late_ms):
            found.append(spot)
    return found


def _throttled(evidence: Evidence, spot: Spot) -> Evidence:
    index = settled(evidence)[spot].exchange.answer
    return with_frame(evidence, index or 0, throttle_ms=THROTTLE_MS)


def _always_throttled(evidence: Evidence, _: str) -> Evidence:
    """Every Produce answer asks for ten seconds."""
    frames = [
        changed(frame, throttle_ms=THROTTLE_MS)
        if frame.api == PRODUCE and frame.kind is FrameKind.RESPONSE
        else frame
        for frame in evidence.frames
    ]
    return with_frames(evidence, frames)


def _produces(evidence: Evidence) -> bool:
    return len(exchanges(evidence)) > 0


@view
def _begun(evidence: Evidence) -> tuple[Frame, ...]:
    """How a connection of Produce begins: its opening, then its ApiVersions request and answer, if it has them."""
    conns = {frame.conn for frame in evidence.frames if frame.api == PRODUCE}
    for conn in sorted(conns):
        rows = [frame for frame in evidence.frames if frame.conn == conn]
        hello = [row for row in rows if row.kind is FrameKind.OPEN or row.api == "ApiVersions"]
        if hello and hello[0].kind is FrameKind.OPEN:
            return tuple(hello)
    return ()


def _can_leak(evidence: Evidence) -> bool:
    """True where nothing ended the client's own connections, for it would have ended the others as well."""
    produced = [frame.t_ns for frame in evidence.frames if frame.api == PRODUCE]
    ends = (frame.t_ns for frame in evidence.frames if frame.kind is FrameKind.CLOSE)
    return len(_begun(evidence)) > 0 and not any(produced[0] <= t_ns <= produced[-1] for t_ns in ends)


def _leaked(evidence: Evidence, _: str) -> Evidence:
    """500 connections, opened evenly while the client works, on which nothing else goes; they end with the process."""
    hello = _begun(evidence)
    opened_ns = hello[0].t_ns
    until_ns = max(frame.t_ns for frame in evidence.frames if frame.api == PRODUCE)
    every_ns = max(1, (until_ns - opened_ns) // CONNECTIONS)
    first = max(frame.conn for frame in (*evidence.frames, *evidence.stopped)) + 1
    last_id = inserted_id(evidence)
    added = [
        changed(
            frame,
            conn=first + n,
            t_ns=frame.t_ns + n * every_ns,
            came_ns=None,
            fault=None,
            fate=None,
            correlation_id=None if frame.correlation_id is None else last_id + frame.correlation_id,
        )
        for n in range(CONNECTIONS)
        for frame in hello
    ]
    over_ns = max(frame.t_ns for frame in evidence.frames) + BEHIND_NS
    ends = [
        changed(hello[0], conn=first + n, kind=FrameKind.CLOSE, closed_by="client", t_ns=over_ns + n)
        for n in range(CONNECTIONS)
    ]
    return with_frames_added(evidence, [*added, *ends])


def _without_versions(evidence: Evidence) -> list[int]:
    """Connections that carry Produce, and that began with ApiVersions."""
    first: dict[int, str | None] = {}
    produce = set()
    for frame in evidence.frames:
        if frame.kind is FrameKind.REQUEST:
            first.setdefault(frame.conn, frame.api)
            if frame.api == PRODUCE:
                produce.add(frame.conn)
    return [conn for conn in sorted(produce) if first.get(conn) == "ApiVersions"]


def _no_versions_on(evidence: Evidence, conn: int) -> Evidence:
    return with_frames(
        evidence, [frame for frame in evidence.frames if frame.conn != conn or frame.api != "ApiVersions"]
    )


def _versions_afterwards(evidence: Evidence, conn: int) -> Evidence:
    """The first Produce request of a connection goes before its ApiVersions request."""
    frames = list(evidence.frames)
    hello = next(at for at, each in enumerate(frames) if each.conn == conn and each.api == "ApiVersions")
    first = next(at for at, each in enumerate(frames) if each.conn == conn and each.api == PRODUCE)
    answers = [
        at
        for at, each in enumerate(frames)
        if each.conn == conn and each.kind is FrameKind.RESPONSE and each.api == "ApiVersions"
    ]
    asks = [at for at, each in enumerate(frames) if each.conn == conn and each.api == "ApiVersions"]
    behind = frames[first].t_ns + BEHIND_NS
    answered = next(
        (each.t_ns for each in frames[first:] if each.conn == conn and each.kind is FrameKind.RESPONSE),
        behind,
    )
    for at in asks:
        frames[at] = changed(
            frames[at], t_ns=(answered + BEHIND_NS if at in answers else behind), came_ns=None
        )
    assert hello in asks
    return with_frames(evidence, frames)


@view
def _in_flight(evidence: Evidence) -> int:
    """The largest number of Produce requests that waited at a time on one connection, and were all answered there."""
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
    """The client was told to keep one request in flight, and said that it would."""
    return _configured(evidence, 1)


def _configured(evidence: Evidence, limit: int) -> Evidence:
    return with_config(evidence, max_in_flight_requests_per_connection=limit)


def _burst(evidence: Evidence) -> list[Spot]:
    """Batches whose request has its moment to itself, so that others can follow it before its answer, in turn."""
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
    """As many refused requests as are allowed go right behind one, before its answer."""
    batch = settled(evidence)[spot]
    limit = int(evidence.record.spec.config.get(IN_FLIGHT, 5))
    request, answer = request_of(evidence, batch), answer_to(evidence, batch)
    first = inserted_id(evidence)
    refusals = tuple(
        [
            ProducePart(part.topic, part.partition, base_offset=-1, error_code=NOT_LEADER)
            for part in request.produce
        ]
    )
    own = {"came_ns": None, "fault": None, "fate": None}
    added = []
    for n in range(limit):
        added.append(changed(request, t_ns=request.t_ns + n + 1, correlation_id=first + n, **own))
        told = _answer(request, produce=refusals, error_codes=(NOT_LEADER,))
        added.append(changed(told, t_ns=answer.t_ns + n + 1, correlation_id=first + n, **own))
    return with_frames_added(evidence, added)


def _acks(acks: int) -> Callable[[Evidence, str], Evidence]:
    def apply(evidence: Evidence, _: str) -> Evidence:
        frames = [frame if frame.acks is None else changed(frame, acks=acks) for frame in evidence.frames]
        return with_frames(evidence, frames)

    return apply


def _one_with_acks_1(evidence: Evidence, spot: Spot) -> Evidence:
    return with_frame(evidence, settled(evidence)[spot].exchange.request, acks=1)


def _asks_for_all(evidence: Evidence) -> bool:
    asks = any(frame.acks == -1 for frame in evidence.frames)
    return asks and str(evidence.record.spec.config.get("acks")) in ("all", "-1")


def _acks_told(evidence: Evidence, batch: Batch) -> bool:
    return request_of(evidence, batch).acks == -1 and _asks_for_all(evidence)


def _retried_after(code: int) -> Callable[[Evidence, Spot], Evidence]:
    """A batch is refused once, and sent again a millisecond after the refusal, when it is taken."""

    def apply(evidence: Evidence, spot: Spot) -> Evidence:
        batch = settled(evidence)[spot]
        request, sent = request_of(evidence, batch), asked(evidence, batch.exchange)
        told = ProducePart(sent.topic, sent.partition, base_offset=-1, error_code=code)
        own = {"correlation_id": inserted_id(evidence), "came_ns": None, "fault": None, "fate": None}
        refused = changed(request, t_ns=request.arrived_ns - 2 * NS_PER_MS, produce=(sent,), **own)
        answer = _answer(
            refused, t_ns=request.arrived_ns - NS_PER_MS, produce=(told,), error_codes=(code,), size_bytes=100
        )
        return with_frames_added(evidence, [refused, answer])

    return apply


def _idle_before(evidence: Evidence) -> list[Spot]:
    """Batches that waited in the client for some milliseconds with nothing on its way on their connection."""
    found, waiting, idle_since = [], Counter[int](), dict[int, int]()
    idle: dict[int, bool] = {}
    for index, frame in enumerate(evidence.frames):
        if frame.kind is FrameKind.REQUEST:
            since_ns = idle_since.get(frame.conn, frame.t_ns)
            idle[index] = not waiting[frame.conn] and frame.arrived_ns - since_ns > 3 * NS_PER_MS
            waiting[frame.conn] += 1
        elif frame.kind is FrameKind.RESPONSE:
            waiting[frame.conn] -= 1
            idle_since[frame.conn] = frame.t_ns
    for spot, batch in settled(evidence).items():
        sent_ns = request_of(evidence, batch).arrived_ns
        called = all(send.invoke_ns < sent_ns - 2 * NS_PER_MS for send in batch.sends)
        if called and idle[batch.exchange.request]:
            found.append(spot)
    return found


def _moved_retry(evidence: Evidence, spot: Spot) -> Evidence:
    """A batch is refused in the next partition, and then stored in its own."""
    batch = settled(evidence)[spot]
    other = (spot[0] + 1) % evidence.record.spec.workload.partitions
    sent = changed(asked(evidence, batch.exchange), partition=other)
    told = ProducePart(sent.topic, other, base_offset=-1, error_code=NOT_LEADER)
    request, answer = request_of(evidence, batch), answer_to(evidence, batch)
    return with_frames_added(evidence, pair(evidence, request, answer, sent, told, -BEHIND_NS))


def _has_others(evidence: Evidence, _: Batch) -> bool:
    return evidence.record.spec.workload.partitions > 1


def _to_no_partition(evidence: Evidence, spot: Spot) -> Evidence:
    batch = settled(evidence)[spot]
    sent = changed(asked(evidence, batch.exchange), partition=evidence.record.spec.workload.partitions + 100)
    told = ProducePart(sent.topic, sent.partition, base_offset=-1, error_code=3)
    request, answer = request_of(evidence, batch), answer_to(evidence, batch)
    return with_frames_added(evidence, pair(evidence, request, answer, sent, told, -BEHIND_NS))


def _after_close(evidence: Evidence, spot: Spot) -> Evidence:
    """A refused request for a batch goes once more after close() returned, on a connection that stays open for it."""
    closed_ns = _closed_ns(evidence) or 0
    batch = settled(evidence)[spot]
    request, sent = request_of(evidence, batch), asked(evidence, batch.exchange)
    later = paused(evidence, closed_ns + 1, AFTER_CLOSE_NS + 1_000 * NS_PER_MS)
    told = ProducePart(sent.topic, sent.partition, base_offset=-1, error_code=NOT_LEADER)
    conn = max(frame.conn for frame in (*evidence.frames, *evidence.stopped)) + 1
    at_ns = closed_ns + AFTER_CLOSE_NS
    own = {"conn": conn, "came_ns": None, "fault": None, "fate": None}
    hello = [
        changed(frame, t_ns=at_ns - (len(_begun(evidence)) - n) * NS_PER_MS, **own)
        for n, frame in enumerate(_begun(evidence))
    ]
    sent_late = changed(request, t_ns=at_ns, produce=(sent,), correlation_id=inserted_id(evidence), **own)
    answer = _answer(sent_late, t_ns=at_ns + NS_PER_MS, produce=(told,), error_codes=(NOT_LEADER,))
    end = changed(
        _begun(evidence)[0], kind=FrameKind.CLOSE, closed_by="client", t_ns=at_ns + 2 * NS_PER_MS, **own
    )
    return with_frames_added(later, [*hello, sent_late, answer, end])


def _closed_ns(evidence: Evidence) -> int | None:
    closes = [event for event in evidence.history if isinstance(event, OpComplete) and event.op == "close"]
    return closes[-1].mono_ns if closes and closes[-1].outcome == [Outcome.OK] else None


def _closes(evidence: Evidence, _: Batch) -> bool:
    return _closed_ns(evidence) is not None and len(_begun(evidence)) > 0


def _sent_after_failure(evidence: Evidence, spot: Spot) -> Evidence:
    """The records of a batch are reported as expired 300 ms before the batch is sent for the first time."""
    batch = settled(evidence)[spot]
    sent_ns = request_of(evidence, batch).t_ns
    told_ns = sent_ns - 300 * NS_PER_MS
    expired = [
        changed(
            send,
            complete_ns=max(send.invoke_ns + 1, told_ns),
            outcome=Outcome.INFO,
            partition=-1,
            offset=-1,
            error="TimeoutException",
        )
        for send in batch.sends
    ]
    return with_results(evidence, expired)


def _waited_long(evidence: Evidence, batch: Batch) -> bool:
    sent_ns = request_of(evidence, batch).t_ns
    return all(sent_ns - send.invoke_ns > 400 * NS_PER_MS for send in batch.sends)


def _quiet(evidence: Evidence) -> list[Place]:
    return list(quiet(evidence))


def _quiet_with_metadata(evidence: Evidence) -> list[Place]:
    return list(quiet(evidence)) if _metadata(evidence) else []


def _other_topic(evidence: Evidence, spot: Spot) -> Evidence:
    """A batch is tried on a topic that nobody named, which the broker does not have."""
    batch = settled(evidence)[spot]
    sent = changed(asked(evidence, batch.exchange), topic=f"{evidence.record.topic}-other")
    told = ProducePart(sent.topic, sent.partition, base_offset=-1, error_code=3)
    request, answer = request_of(evidence, batch), answer_to(evidence, batch)
    return with_frames_added(evidence, pair(evidence, request, answer, sent, told, -BEHIND_NS))


STORM = ("retry-storm",)

PERTURBATIONS = (
    Perturbation(
        "retry-storm",
        channels("frames", "history", "log"),
        "sends a refused batch again 3,000 times, a millisecond apart",
        STORM,
        _quiet,
        _storm,
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "retry-without-pause",
        FRAMES,
        "sends a batch again in the moment in which it is refused",
        ("retry-too-soon", *STORM),
        _idle_before,
        _retried_after(NOT_LEADER),
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "metadata-storm",
        channels("frames", "history", "log"),
        "asks for Metadata 2,000 times in a second",
        ("metadata-storm",),
        _quiet_with_metadata,
        _metadata_storm,
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "throttle-ignored",
        FRAMES,
        "goes on sending on a connection whose broker asked it to wait ten seconds",
        ("throttle-ignored",),
        _heeds_nothing,
        _throttled,
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "throttle-always-ignored",
        FRAMES,
        "goes on sending although every answer asks it to wait ten seconds",
        ("throttle-ignored",),
        once(lambda evidence: len(_heeds_nothing(evidence)) > 0),
        _always_throttled,
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "connections-leaked",
        FRAMES,
        "opens 500 connections and closes none of them before its process ends",
        ("connections-leaked", "connections-open"),
        once(_can_leak),
        _leaked,
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "no-api-versions",
        FRAMES,
        "sends Produce on a connection on which it never asked for ApiVersions",
        ("api-versions-skipped",),
        _without_versions,
        _no_versions_on,
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "api-versions-afterwards",
        FRAMES,
        "sends Produce before it asks for ApiVersions on the same connection",
        ("api-versions-skipped",),
        _without_versions,
        _versions_afterwards,
        verdict=Verdict.DIFFERS,
    ),
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
    Perturbation(
        "acks-of-the-leader",
        FRAMES,
        "asks for acks=1 although acks is all",
        ("acks-not-applied",),
        once(_asks_for_all),
        _acks(1),
        guarantees=DURABLE,
    ),
    Perturbation(
        "one-request-with-acks-1",
        FRAMES,
        "sends one request with acks=1 although acks is all",
        ("acks-not-applied",),
        spots(_acks_told),
        _one_with_acks_1,
        guarantees=DURABLE,
    ),
    Perturbation(
        "retried-in-another-partition",
        FRAMES,
        "stores in one partition what it had first sent to another",
        ("batch-moved",),
        spots(_has_others),
        _moved_retry,
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "unknown-partition",
        FRAMES,
        "sends a batch to a partition that the topic does not have",
        ("batch-moved", "unknown-partition"),
        spots(),
        _to_no_partition,
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "other-topic",
        FRAMES,
        "sends a batch to a topic that it was not told to write to",
        ("other-topic",),
        spots(),
        _other_topic,
    ),
    Perturbation(
        "retried-after-final-error",
        FRAMES,
        "sends a batch again that was refused with TOPIC_AUTHORIZATION_FAILED",
        ("retried-final-error", "retry-too-soon"),
        _idle_before,
        _retried_after(NOT_AUTHORIZED),
        verdict=Verdict.DIFFERS,
    ),
    Perturbation(
        "sent-after-close",
        channels("frames", "history"),
        "sends a request after its close has returned",
        ("sent-after-close",),
        spots(_closes),
        _after_close,
    ),
    Perturbation(
        "sent-after-expiry",
        channels("history"),
        "sends a batch for the first time after it has reported its records as expired",
        ("sent-after-expiry", "gave-up", "gave-up-early"),
        spots(_waited_long),
        _sent_after_failure,
        verdict=Verdict.DIFFERS,
        guarantees=DURABLE,
    ),
)
