"""What the client itself tells of its decisions, where it tells them: a trace of a client with a defect inside.

The other channels stay as they are, for these defects have not reached anybody yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from msgspec.structs import replace as changed

from clients.reference.trace import (
    BatchClosed,
    BatchCreated,
    BatchEnded,
    BatchRetried,
    BatchSent,
    ConnectAttempt,
    RequestLost,
    RequestSent,
    ResponseReceived,
    StateChanged,
    TraceEvent,
)
from harness.evidence import Evidence, view
from harness.outcome import Verdict
from suites.checks.promises import EVERY, EXACTLY_ONCE
from suites.checks.trace_model import events_of
from suites.perturbations.perturbation import Perturbation, channels

E = TypeVar("E", bound=TraceEvent)
Events = tuple[TraceEvent, ...]
TRACE = channels("trace")
#: More than any limit forgives.
LONG_MS, LONG_AGO_MS = 10_000, 100_000
#: Less than any linger.ms that a trial has, and more than nothing.
SHORT_MS = 3


@view
def _events(evidence: Evidence) -> Events:
    return tuple(events_of(evidence))


def _of(kind: type[E], holds: Callable[[E], bool] = lambda event: True) -> Callable[[Evidence], list[int]]:
    """The places of events of a kind for which ``holds``."""

    def places(evidence: Evidence) -> list[int]:
        return [at for at, event in enumerate(_events(evidence)) if isinstance(event, kind) and holds(event)]

    return places


def _put(change: Callable[[TraceEvent], Sequence[TraceEvent]]) -> Callable[[Evidence, int], Evidence]:
    """Other events in the place of one."""

    def apply(evidence: Evidence, at: int) -> Evidence:
        events = _events(evidence)
        return replace(evidence, trace=(*events[:at], *change(events[at]), *events[at + 1 :]))

    return apply


def _with(**fields: object) -> Callable[[Evidence, int], Evidence]:
    return _put(lambda event: (changed(event, **fields),))


def _plus(name: str, by: int) -> Callable[[Evidence, int], Evidence]:
    return _put(lambda event: (changed(event, **{name: getattr(event, name) + by}),))


_gone = _put(lambda event: ())
_twice = _put(lambda event: (event, event))


def _in_flight_again(event: TraceEvent) -> Sequence[TraceEvent]:
    assert isinstance(event, RequestSent)
    return [changed(event, correlation_id=event.correlation_id + n) for n in range(8)]


def _sent_early(evidence: Evidence, at: int) -> Evidence:
    """A Produce request goes on a connection that does not know its versions yet."""
    events = _events(evidence)
    ready = events[at]
    assert isinstance(ready, StateChanged)
    early = RequestSent(
        at_ms=ready.at_ms, node=int(ready.subject), api="Produce", version=9, correlation_id=0, size_bytes=100
    )
    return replace(evidence, trace=(*events[:at], early, *events[at:]))


def _answered_before_others(evidence: Evidence) -> list[int]:
    """Answers but for the last of each node: a client may forget what waits when it is closed."""
    events = _events(evidence)
    last = {event.node: at for at, event in enumerate(events) if isinstance(event, ResponseReceived)}
    return [at for at in _of(ResponseReceived)(evidence) if at not in last.values()]


def _becomes_ready(event: StateChanged) -> bool:
    return event.machine == "connection" and event.after == "READY"


def _succeeds(event: StateChanged) -> bool:
    return event.machine == "batch" and event.cause == "succeed" and event.before == "IN_FLIGHT"


def _drains(event: StateChanged) -> bool:
    return event.machine == "batch" and event.cause == "drain"


def _throttled(evidence: Evidence) -> list[int]:
    """Answers of Produce after which the node was sent something within a second."""
    events = _events(evidence)
    found = []
    for at, event in enumerate(events):
        if (
            isinstance(event, ResponseReceived)
            and event.api == "Produce"
            and _goes_on(events[at + 1 : at + 40], event)
        ):
            found.append(at)
    return found


def _goes_on(events: Sequence[TraceEvent], after: ResponseReceived) -> bool:
    for event in events:
        if isinstance(event, StateChanged) and event.machine == "connection":
            return False
        if isinstance(event, RequestSent) and event.node == after.node and event.api == "Produce":
            return event.at_ms < after.at_ms + 1_000
    return False


def _lingered(evidence: Evidence) -> list[int]:
    """The making of batches that were then closed for their linger.ms, and just when those were over."""
    linger_ms = int(evidence.record.spec.config.get("linger.ms", 5))
    events = _events(evidence)
    closed = {
        event.batch: event.at_ms
        for event in events
        if isinstance(event, BatchClosed) and event.reason == "linger"
    }
    return [
        at
        for at in _of(BatchCreated)(evidence)
        if isinstance(made := events[at], BatchCreated)
        and 0 <= closed.get(made.batch, 0) - made.at_ms < linger_ms + SHORT_MS
    ]


def _numbered(event: BatchSent) -> bool:
    return event.producer_id >= 0 and event.base_sequence > 0


def _raised(evidence: Evidence, at: int) -> Evidence:
    """The connection is tried again in the moment in which it ended."""
    events = _events(evidence)
    ended = events[at]
    again = next(
        event
        for event in events[at:]
        if isinstance(event, ConnectAttempt) and str(event.node) == _node(ended)
    )
    moved = [event for event in events[at + 1 :] if event is not again]
    return replace(evidence, trace=(*events[: at + 1], changed(again, at_ms=ended.at_ms), *moved))


def _node(event: TraceEvent) -> str:
    assert isinstance(event, StateChanged)
    return event.subject


def _reconnects(evidence: Evidence) -> list[int]:
    """Ends of connections whose node was tried again later, at the address it had."""
    events = _events(evidence)
    tried: dict[str, tuple[str, str]] = {}
    found: list[tuple[int, str, tuple[str, str]]] = []
    kept = []
    for at, event in enumerate(events):
        if isinstance(event, ConnectAttempt):
            node, address = str(event.node), (event.host, event.address)
            for ended, of, was in found:
                if of == node and was == address and event.at_ms > events[ended].at_ms + 20:
                    kept.append(ended)
            found = [each for each in found if each[1] != node]
            tried[node] = address
        elif isinstance(event, StateChanged) and _disconnects(event) and event.subject in tried:
            found.append((at, event.subject, tried[event.subject]))
    return kept


def _disconnects(event: StateChanged) -> bool:
    return event.machine == "connection" and event.cause == "disconnect"


def _trace(
    name: str,
    defect: str,
    check: str | tuple[str, ...],
    places: Callable[[Evidence], Sequence[int]],
    apply: Callable[[Evidence, int], Evidence],
    verdict: Verdict = Verdict.FAIL,
    exactly_once: bool = False,
) -> Perturbation:
    codes = (check,) if isinstance(check, str) else check
    guarantees = EXACTLY_ONCE if exactly_once else EVERY
    return Perturbation(name, TRACE, defect, codes, places, apply, verdict, guarantees)


DIFFERS = Verdict.DIFFERS

PERTURBATIONS = (
    _trace(
        "trace-illegal-move",
        "takes a batch for stored that was never sent",
        "transition",
        _of(StateChanged, _succeeds),
        _with(before="CLOSED"),
    ),
    _trace(
        "trace-skipped-move",
        "sends a batch without taking it from its queue",
        ("transition", "bookkeeping"),
        _of(StateChanged, _drains),
        _gone,
    ),
    _trace("trace-two-ends", "ends a batch twice", "transition", _of(BatchEnded), _twice),
    _trace(
        "trace-other-end",
        "reports a batch as failed that it takes for stored",
        "transition",
        _of(BatchEnded, lambda event: not event.error),
        _with(error="NETWORK_EXCEPTION"),
    ),
    _trace(
        "trace-ready-without-versions",
        "sends Produce before it knows the versions of a broker",
        "in-flight",
        _of(StateChanged, _becomes_ready),
        _sent_early,
        DIFFERS,
    ),
    _trace(
        "trace-unasked-answer",
        "takes an answer to a request that it did not send",
        "in-flight",
        _of(RequestSent, lambda event: event.api != "Produce"),
        _gone,
    ),
    _trace(
        "trace-answer-of-another",
        "takes the answer to one request for that of the next",
        "in-flight",
        _of(ResponseReceived),
        _plus("correlation_id", 1),
    ),
    _trace("trace-two-answers", "takes an answer twice", "in-flight", _of(ResponseReceived), _twice),
    _trace(
        "trace-lost-answer",
        "forgets a request that was answered",
        "in-flight",
        _answered_before_others,
        _gone,
    ),
    _trace(
        "trace-forgotten-request",
        "forgets a request whose connection ended",
        "in-flight",
        _of(RequestLost),
        _gone,
    ),
    _trace(
        "trace-too-many-in-flight",
        "keeps more requests in flight than it may",
        "in-flight",
        _of(RequestSent, lambda event: event.api == "Produce"),
        _put(_in_flight_again),
        DIFFERS,
    ),
    _trace(
        "trace-throttle-ignored",
        "sends to a node that asked it to wait",
        "in-flight",
        _throttled,
        _with(throttle_ms=LONG_MS),
        DIFFERS,
    ),
    _trace(
        "trace-no-backoff",
        "tries a node again in the moment in which its connection ended",
        ("in-flight", "deadlines"),
        _reconnects,
        _raised,
        DIFFERS,
    ),
    _trace("trace-made-twice", "makes a batch twice", "bookkeeping", _of(BatchCreated), _twice),
    _trace("trace-unmade-batch", "sends a batch that it never made", "bookkeeping", _of(BatchCreated), _gone),
    _trace(
        "trace-attempt-not-counted",
        "does not count an attempt",
        "bookkeeping",
        _of(BatchSent, lambda event: event.attempt > 1),
        _plus("attempt", -1),
        DIFFERS,
    ),
    _trace(
        "trace-final-error-retried",
        "sends a batch again after an error that is final",
        "bookkeeping",
        _of(BatchRetried),
        _with(error="TOPIC_AUTHORIZATION_FAILED"),
        DIFFERS,
    ),
    _trace(
        "trace-retried-too-soon",
        "sends a batch again before its backoff is over",
        ("bookkeeping", "deadlines"),
        _of(BatchRetried),
        _plus("retry_at_ms", LONG_MS),
        DIFFERS,
    ),
    _trace(
        "trace-sequence-gap",
        "leaves a gap in the sequence of a partition",
        "sequence",
        _of(BatchSent, _numbered),
        _plus("base_sequence", 1),
        exactly_once=True,
    ),
    _trace(
        "trace-sequence-overlap",
        "gives out a sequence twice",
        "sequence",
        _of(BatchSent, _numbered),
        _plus("base_sequence", -1),
        exactly_once=True,
    ),
    _trace(
        "trace-other-epoch",
        "sends a batch under an epoch that it does not have",
        "sequence",
        _of(BatchSent, _numbered),
        _plus("producer_epoch", 1),
        exactly_once=True,
    ),
    _trace(
        "trace-other-producer-id",
        "sends a batch under a producer id that it does not have",
        "sequence",
        _of(BatchSent, _numbered),
        _plus("producer_id", 1),
        exactly_once=True,
    ),
    _trace(
        "trace-linger-cut-short",
        "closes a batch as lingered before its linger.ms are over",
        "deadlines",
        _lingered,
        _plus("at_ms", SHORT_MS),
        DIFFERS,
    ),
    _trace(
        "trace-never-expired",
        "leaves a batch without a result long after its delivery timeout",
        "deadlines",
        _of(BatchCreated),
        _plus("at_ms", -LONG_AGO_MS),
        DIFFERS,
    ),
)
