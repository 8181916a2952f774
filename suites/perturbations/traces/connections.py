"""Traces of a client that breaks the rules of a connection: its versions, its requests in flight, its pauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from clients.reference.telemetry.trace import (
    ConnectAttempt,
    RequestLost,
    RequestSent,
    ResponseReceived,
    StateChanged,
    TraceEvent,
)
from harness.model.evidence import Evidence
from harness.model.verdicts import Verdict
from suites.perturbations.traces.events import gone, of, on_trace, plus, put, trace_of, twice, with_fields

#: Longer than any tolerance of a check.
LONG_MS = 10_000


def _in_flight_again(event: TraceEvent) -> Sequence[TraceEvent]:
    assert isinstance(event, RequestSent)
    return [changed(event, correlation_id=event.correlation_id + n) for n in range(8)]


def _sent_early(evidence: Evidence, at: int) -> Evidence:
    """A Produce request is sent on a connection that does not know the broker's versions yet."""
    events = trace_of(evidence)
    ready = events[at]
    assert isinstance(ready, StateChanged)
    early = RequestSent(
        at_ms=ready.at_ms, node=int(ready.subject), api="Produce", version=9, correlation_id=0, size_bytes=100
    )
    return replace(evidence, trace=(*events[:at], early, *events[at:]))


def _answered_before_others(evidence: Evidence) -> list[int]:
    """Return answers except the last of each node, since a client that is closed may forget waiting requests."""
    events = trace_of(evidence)
    last = {event.node: at for at, event in enumerate(events) if isinstance(event, ResponseReceived)}
    return [at for at in of(ResponseReceived)(evidence) if at not in last.values()]


def _becomes_ready(event: StateChanged) -> bool:
    return event.machine == "connection" and event.after == "READY"


def _throttled(evidence: Evidence) -> list[int]:
    """Return answers of Produce after which the node was sent a request within a second."""
    events = trace_of(evidence)
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


def _raised(evidence: Evidence, at: int) -> Evidence:
    """The client tries to connect again at the time at which the connection ended."""
    events = trace_of(evidence)
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
    """Return ends of connections after which the client later tried the same address of the node again."""
    events = trace_of(evidence)
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


PERTURBATIONS = (
    on_trace(
        "trace-ready-without-versions",
        "sends Produce before it knows the versions of a broker",
        "in-flight",
        of(StateChanged, _becomes_ready),
        _sent_early,
        Verdict.DIFFERS,
    ),
    on_trace(
        "trace-unasked-answer",
        "takes an answer to a request that it did not send",
        "in-flight",
        of(RequestSent, lambda event: event.api != "Produce"),
        gone,
    ),
    on_trace(
        "trace-answer-of-another",
        "takes the answer to one request as that of the next",
        "in-flight",
        of(ResponseReceived),
        plus("correlation_id", 1),
    ),
    on_trace("trace-two-answers", "takes an answer twice", "in-flight", of(ResponseReceived), twice),
    on_trace(
        "trace-lost-answer",
        "forgets a request that was answered",
        "in-flight",
        _answered_before_others,
        gone,
    ),
    on_trace(
        "trace-forgotten-request",
        "forgets a request whose connection ended",
        "in-flight",
        of(RequestLost),
        gone,
    ),
    on_trace(
        "trace-too-many-in-flight",
        "keeps more requests in flight than it may",
        "in-flight",
        of(RequestSent, lambda event: event.api == "Produce"),
        put(_in_flight_again),
        Verdict.DIFFERS,
    ),
    on_trace(
        "trace-throttle-ignored",
        "sends to a node that asked it to wait",
        "in-flight",
        _throttled,
        with_fields(throttle_ms=LONG_MS),
        Verdict.DIFFERS,
    ),
    on_trace(
        "trace-no-backoff",
        "tries a node again as soon as its connection has ended",
        ("in-flight", "deadlines"),
        _reconnects,
        _raised,
        Verdict.DIFFERS,
    ),
)
