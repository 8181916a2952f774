"""# in-flight

## What it does

Rebuilds the request queue of every connection from the client's trace: which requests are written to which
node in which state, which answer completes which request, and what happens to the remaining requests when the
connection ends.

## Why it is bad

A response that completes the wrong request reports a record as safe that is not. A request that ends twice,
or never, has similar effects. A client that keeps sending to a node that is down, or that asked it to wait,
keeps that node down.

## How it is judged per guarantee

- **all**: forbidden.

## What it needs

The client's own trace; clients without one are not judged. Settings: max.in.flight.requests.per.connection,
reconnect.backoff.ms and its maximum, acks (without acknowledgements a Produce request ends when it is
written, and no event reports that).

## References

NET-CON-01, -05, -12 (KIP-35, KIP-144, KIP-219), NET-INF-01, -02, -03, -05, -06, NET-TMO-02.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field

from clients.reference.telemetry.trace import (
    ConnectAttempt,
    ConnectionEnded,
    RequestLost,
    RequestSent,
    ResponseReceived,
    StateChanged,
    TraceEvent,
)
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Guarantee
from harness.plugins.check import Check
from harness.text.counting import some
from suites.checks.trace.situations import judged
from suites.checks.trace.trace_model import (
    MUST,
    SHOULD,
    Breach,
    Monitor,
    accusation,
    breach_anomaly,
    events_of,
    number,
)

RESERVED_FIRST_ID, INT32_MIN = 2**31 - 8, -(2**31)
#: The first version of each API whose answer a broker sends before it mutes the connection (KIP-219).
THROTTLES_SINCE = {"Produce": 6, "Metadata": 6, "FindCoordinator": 2, "ApiVersions": 2, "InitProducerId": 1}
_DEAD = frozenset({"DISCONNECTED", "AUTHENTICATION_FAILED"})
_TIMED_OUT = "REQUEST_TIMEOUT"
_NEVER_ENDED = "requests of its last connection never ended"


@dataclass(slots=True)
class _Node:
    """A node and the state of its connection. ``unwritten`` is the newest request without an answer (acks=0)."""

    state: str = "DISCONNECTED"
    queue: deque[tuple[int, str, int]] = field(default_factory=deque)  # correlation id, API, version
    unwritten: int | None = None
    throttled_until_ms: int = 0
    failures: int = 0
    ended_ms: int = 0
    host: str = ""
    port: str = ""
    end: str = ""


class InFlight(Monitor):
    """The queues of all nodes.

    ``limit`` is per connection, ``answers_produce`` is False for acks=0, backoffs are in ms.
    """

    def __init__(self, limit: int, *, answers_produce: bool, backoff_ms: int, backoff_max_ms: int) -> None:
        super().__init__()
        self._limit, self._answers_produce = limit, answers_produce
        self._backoff_ms, self._backoff_max_ms = backoff_ms, backoff_max_ms
        self._nodes: defaultdict[int, _Node] = defaultdict(_Node)
        self._last_id: int | None = None
        self.handlers = {
            StateChanged: self._moved,
            RequestSent: self._sent,
            ResponseReceived: self._answered,
            RequestLost: self._lost,
            ConnectAttempt: self._attempt,
            ConnectionEnded: self._closed,
        }

    # connections

    def _moved(self, event: StateChanged) -> None:
        if event.machine != "connection":
            return
        node = self._nodes[int(event.subject)]
        node.state = event.after
        if event.cause == "connect":
            if node.queue:
                self._tell("NET-INF-06", event, event.subject, f"{len(node.queue)} {_NEVER_ENDED}")
            node.queue.clear()
            node.unwritten, node.throttled_until_ms = None, 0
        elif event.cause == "disconnect":
            node.failures += 1
            node.ended_ms = event.at_ms
        elif event.cause == "api-versions":
            node.failures = 0
        elif event.cause == "forget":
            node.queue.clear()
            node.failures = 0

    def _attempt(self, event: ConnectAttempt) -> None:
        """Check that a retry waits at least the shortest backoff, unless the node has moved (NET-CON-10)."""
        node = self._nodes[event.node]
        port = event.address.rpartition(":")[2] or node.port
        if (event.host, port) != (node.host, node.port or port):
            node.failures = 0
        node.host, node.port = event.host, port
        if node.failures and event.at_ms < node.ended_ms + self._least_backoff_ms(node.failures):
            since_ms = event.at_ms - node.ended_ms
            what = f"was tried again {since_ms} ms after failure {node.failures}"
            self._tell("NET-CON-05", event, event.node, what)

    def _least_backoff_ms(self, failures: int) -> int:
        if self._backoff_max_ms <= self._backoff_ms:
            return self._backoff_max_ms
        doublings = min(failures - 1, 31)
        return int(0.8 * min(self._backoff_ms << doublings, self._backoff_max_ms))

    def _closed(self, event: ConnectionEnded) -> None:
        self._nodes[event.node].end = event.state

    # requests

    def _sent(self, event: RequestSent) -> None:
        node = self._nodes[event.node]
        if node.state != "READY" and not (
            node.state == "CHECKING_API_VERSIONS" and event.api == "ApiVersions"
        ):
            self._tell("NET-CON-01", event, event.node, f"was sent {event.api} in the state {node.state}")
        if event.at_ms < node.throttled_until_ms and event.api != "ApiVersions":
            left_ms = node.throttled_until_ms - event.at_ms
            self._tell(
                "NET-CON-12",
                event,
                event.node,
                f"was sent {event.api} {left_ms} ms too early, while it was throttling",
            )
        if len(node.queue) >= self._limit:
            what = f"was sent {event.api} with {some(len(node.queue), 'request')} unanswered"
            self._tell("NET-INF-03", event, event.node, what)
        self._count(event)
        node.unwritten = None
        if self._answers_produce or event.api != "Produce":
            node.queue.append((event.correlation_id, event.api, event.version))
        else:
            node.unwritten = event.correlation_id

    def _count(self, event: RequestSent) -> None:
        """Check that correlation ids rise by one per client, and turn negative before the ids reserved for SASL."""
        last, self._last_id = self._last_id, event.correlation_id
        if last is None:
            return
        due = INT32_MIN if last + 1 == RESERVED_FIRST_ID else last + 1
        if event.correlation_id != due:
            self._tell(
                "NET-INF-02", event, event.node, f"got the correlation id {event.correlation_id} after {last}"
            )

    def _answered(self, event: ResponseReceived) -> None:
        node = self._nodes[event.node]
        if node.state in _DEAD:
            self._tell(
                "NET-TMO-05", event, event.node, f"answered {event.api} after its connection had ended"
            )
        if not node.queue or node.queue[0][:2] != (event.correlation_id, event.api):
            due = f"{node.queue[0][1]} {node.queue[0][0]}" if node.queue else "nothing"
            what = f"answered {event.api} {event.correlation_id}, expected {due}"
            self._tell("NET-INF-01", event, event.node, what)
            return
        _, api, version = node.queue.popleft()
        if event.throttle_ms > 0 and version >= THROTTLES_SINCE.get(api, 1 << 15):
            node.throttled_until_ms = max(node.throttled_until_ms, event.at_ms + event.throttle_ms)

    def _lost(self, event: RequestLost) -> None:
        node = self._nodes[event.node]
        what = f"lost {event.api} {event.correlation_id}"
        if node.state not in _DEAD:
            self._tell("NET-INF-06", event, event.node, f"{what} on a connection that is open")
        if event.timed_out is not (node.end == _TIMED_OUT):
            self._tell(
                "NET-TMO-02", event, event.node, f"{what} with timed_out={event.timed_out} at {node.end}"
            )
        if node.queue and node.queue[0][0] == event.correlation_id:
            node.queue.popleft()
        elif not node.queue and node.unwritten == event.correlation_id:
            node.unwritten = None
        else:
            due = node.queue[0][0] if node.queue else "nothing"
            self._tell("NET-INF-06", event, event.node, f"{what}, expected {due}")

    def ended(self) -> None:
        """A connection that ended has nothing in flight.

        An open one may have, because closing drops requests silently.
        """
        for node_id, node in self._nodes.items():
            if node.queue and node.state in _DEAD:
                what = f"{len(node.queue)} {_NEVER_ENDED}"
                self.breaches.append(Breach("NET-INF-06", node.ended_ms, f"node {node_id}", what))

    def _tell(self, requirement: str, event: TraceEvent, node: int | str, what: str) -> None:
        self.accuse(requirement, event, f"node {node}", what)


ANOMALY = breach_anomaly("in-flight")


def run(evidence: Evidence) -> list[Finding]:
    """Return one finding per requirement, which counts the events that do not fit their connection's queue."""
    monitor = InFlight(
        number(evidence, "max.in.flight.requests.per.connection", 5),
        answers_produce=str(evidence.record.spec.config.get("acks", "all")) != "0",
        backoff_ms=number(evidence, "reconnect.backoff.ms", 50),
        backoff_max_ms=number(evidence, "reconnect.backoff.max.ms", 1_000),
    )
    return accusation(ANOMALY, monitor.watch(events_of(evidence)))


CHECK = Check(
    name="in-flight",
    summary="Requests that do not end once and in order, or that were written when they must not be.",
    requirements=(
        judged("NET-CON-01", SHOULD),
        judged("NET-CON-05", SHOULD),
        judged("NET-CON-12", SHOULD),
        judged("NET-INF-01", MUST),
        judged("NET-INF-02", SHOULD),
        judged("NET-INF-03", SHOULD),
        judged("NET-INF-05", MUST),
        judged("NET-INF-06", MUST),
        judged("NET-TMO-02", SHOULD),
        judged("NET-TMO-05", SHOULD),
    ),
    guarantees=frozenset(Guarantee),
    requires=frozenset({"trace"}),
    killed_mutant="loses_newest_first",
    run=run,
)
