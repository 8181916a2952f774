"""The clocks of connections and of the requests on them. Part of the check ``deadlines``."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field

from clients.reference.telemetry.trace import (
    ConnectAttempt,
    ConnectionEnded,
    ReconnectBackoff,
    RequestLost,
    RequestSent,
    ResponseReceived,
    StateChanged,
)
from harness.text.counting import some
from suites.checks.trace.clocks import Clocks, Limits, growing_ms
from suites.checks.trace.in_flight import THROTTLES_SINCE

_DEAD = frozenset({"DISCONNECTED", "AUTHENTICATION_FAILED"})
_BACKOFF_RULES = {"READY": "NET-CON-07", "CHECKING_API_VERSIONS": "NET-CON-06"}


@dataclass(slots=True)
class _Request:
    correlation_id: int
    api: str
    version: int
    sent_ms: int
    throttle_ms: int = 0


@dataclass(slots=True)
class _Node:
    """A node's connection. ``unwritten_ms`` is when the newest request without an answer was handed over (acks=0)."""

    state: str = "DISCONNECTED"
    host: str = ""
    port: str = ""
    failures: int = 0
    slow: int = 0
    rule: str = "NET-CON-05"
    may_connect_ms: int = 0
    attempt_ms: int = 0
    setup_ms: int = 0
    throttled_until_ms: int = 0
    used_ms: int = 0
    unwritten_ms: int | None = None
    queue: deque[_Request] = field(default_factory=deque)


class ConnectionClocks(Clocks):
    """Setup, backoff, request timeout, throttling and idleness of every node."""

    machines = ("connection", "life")

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._nodes: defaultdict[int, _Node] = defaultdict(_Node)
        self.handlers = {
            ConnectAttempt: self._attempt,
            ConnectionEnded: self._ended,
            ReconnectBackoff: self._backs_off,
            RequestSent: self._sent,
            ResponseReceived: self._answered,
            RequestLost: self._lost,
        }

    # the states of a connection

    def moved(self, event: StateChanged) -> None:
        if event.machine == "life":
            if event.after == "CLOSED":
                self._nodes.clear()
            return
        node_id, cause = int(event.subject), event.cause
        node = self._nodes[node_id]
        if cause == "connected":
            self._set_up_late(node, event.at_ms, event.subject)
            node.slow, node.used_ms = 0, event.at_ms
        elif cause == "disconnect":
            node.rule = _BACKOFF_RULES.get(event.before, "NET-CON-05")
            node.slow = node.slow + 1 if event.before == "CONNECTING" else 0
            self._failed(node, event.at_ms)
        elif cause == "authentication-failed":
            self._failed(node, event.at_ms)
        elif cause == "api-versions":
            node.failures = 0
        elif cause == "connect":
            node.queue.clear()
            node.throttled_until_ms, node.unwritten_ms = 0, None
        elif cause == "forget":
            self._nodes[node_id] = _Node()
            return
        node.state = event.after

    def _failed(self, node: _Node, at_ms: int) -> None:
        limits = self.limits
        least_ms, _ = growing_ms(limits.reconnect_ms, limits.reconnect_max_ms, node.failures)
        node.failures += 1
        node.may_connect_ms = at_ms + least_ms

    def _backs_off(self, event: ReconnectBackoff) -> None:
        node, limits = self._nodes[event.node], self.limits
        earlier = max(node.failures - 1, 0)
        least_ms, most_ms = growing_ms(limits.reconnect_ms, limits.reconnect_max_ms, earlier)
        if not least_ms <= event.delay_ms <= most_ms:
            what = f"waits {event.delay_ms} ms after failure {node.failures}, not {least_ms} to {most_ms}"
            self.accuse(node.rule, event, f"node {event.node}", what)
        node.may_connect_ms = max(node.may_connect_ms, event.at_ms + event.delay_ms)

    def _attempt(self, event: ConnectAttempt) -> None:
        """A node at another address starts without a history (NET-CON-10)."""
        node, limits = self._nodes[event.node], self.limits
        port = event.address.rpartition(":")[2] or node.port
        if (event.host, port) != (node.host, node.port or port):
            node.failures = node.slow = node.may_connect_ms = 0
        node.host, node.port = event.host, port
        if event.at_ms < node.may_connect_ms:
            early_ms = node.may_connect_ms - event.at_ms
            self.accuse(node.rule, event, f"node {event.node}", f"was tried again {early_ms} ms too early")
        least_ms, most_ms = growing_ms(limits.setup_ms, limits.setup_max_ms, node.slow)
        if not least_ms <= event.setup_timeout_ms <= most_ms:
            what = f"has {event.setup_timeout_ms} ms to be connected, not {least_ms} to {most_ms}"
            self.accuse("NET-CON-08", event, f"node {event.node}", what)
        node.attempt_ms = node.used_ms = event.at_ms
        node.setup_ms = event.setup_timeout_ms

    def _set_up_late(self, node: _Node, at_ms: int, name: str) -> None:
        waited_ms = at_ms - node.attempt_ms
        if waited_ms > node.setup_ms + 1 + self.limits.slack_ms:
            what = f"was being connected for {waited_ms} ms, {node.setup_ms} are allowed"
            self.too_late("NET-CON-08", at_ms, f"node {name}", what)

    def _ended(self, event: ConnectionEnded) -> None:
        """Check the client's reason for ending a connection, and that no request on it was late."""
        node, at_ms, subject = self._nodes[event.node], event.at_ms, f"node {event.node}"
        if event.state == "SETUP_TIMEOUT":
            if at_ms - node.attempt_ms <= node.setup_ms:
                what = f"was given up after {at_ms - node.attempt_ms} of {node.setup_ms} ms"
                self.accuse("NET-CON-08", event, subject, what)
            self._set_up_late(node, at_ms, str(event.node))
        elif event.state == "REQUEST_TIMEOUT":
            waits = [at_ms - each.sent_ms - each.throttle_ms for each in node.queue]
            if node.unwritten_ms is not None:
                waits.append(at_ms - node.unwritten_ms)
            longest_ms = max(waits, default=0)
            if longest_ms <= self.limits.request_ms:
                what = f"was closed for a request that took {longest_ms} of {self.limits.request_ms} ms"
                counted = any(each.throttle_ms for each in node.queue)
                self.accuse("NET-TMO-04" if counted else "NET-TMO-01", event, subject, what)
        elif event.state == "EXPIRED":
            if node.queue:
                self.accuse(
                    "NET-CON-14",
                    event,
                    subject,
                    f"was idle with {some(len(node.queue), 'request')} unanswered",
                )
            if at_ms - node.used_ms <= self.limits.connections_max_idle_ms:
                what = f"was closed after {at_ms - node.used_ms} ms without use"
                self.accuse("NET-CON-14", event, subject, what)
        self._late_requests(node, at_ms, subject)

    # requests

    def _sent(self, event: RequestSent) -> None:
        node = self._nodes[event.node]
        if event.at_ms < node.throttled_until_ms and event.api != "ApiVersions":
            what = f"was sent {event.api} {node.throttled_until_ms - event.at_ms} ms too early, while it was throttling"
            self.accuse("NET-CON-12", event, f"node {event.node}", what)
        self._idle_late(node, event.at_ms, event.node)
        node.used_ms, node.unwritten_ms = event.at_ms, None
        if self.limits.answers_produce or event.api != "Produce":
            node.queue.append(_Request(event.correlation_id, event.api, event.version, event.at_ms))
        else:
            node.unwritten_ms = event.at_ms

    def _answered(self, event: ResponseReceived) -> None:
        node, at_ms = self._nodes[event.node], event.at_ms
        node.used_ms = at_ms
        if not node.queue or node.queue[0].correlation_id != event.correlation_id:
            return
        self._late_requests(node, at_ms, f"node {event.node}")
        request = node.queue.popleft()
        if event.throttle_ms > 0 and request.version >= THROTTLES_SINCE.get(request.api, 1 << 15):
            node.throttled_until_ms = max(node.throttled_until_ms, at_ms + event.throttle_ms)
            for waiting in node.queue:
                waiting.throttle_ms += event.throttle_ms

    def _lost(self, event: RequestLost) -> None:
        queue = self._nodes[event.node].queue
        if queue and queue[0].correlation_id == event.correlation_id:
            queue.popleft()

    def _late_requests(self, node: _Node, at_ms: int, subject: str) -> None:
        allowed_ms = self.limits.request_ms + 1 + self.limits.slack_ms
        for request in node.queue:
            waited_ms = at_ms - request.sent_ms - request.throttle_ms
            if waited_ms > allowed_ms:
                what = f"had {waited_ms} ms for {request.api}, {self.limits.request_ms} are allowed"
                self.too_late("NET-TMO-01", at_ms, subject, what)
                return

    def _idle_late(self, node: _Node, at_ms: int, node_id: int) -> None:
        """Check idleness only if every use of the connection is an event.

        Without answers, no event reports the end of a write.
        """
        limits = self.limits
        if limits.connections_max_idle_ms < 0 or not limits.answers_produce or node.queue:
            return
        idle_ms = at_ms - node.used_ms
        if node.state == "READY" and idle_ms > limits.connections_max_idle_ms + 1 + limits.slack_ms:
            self.too_late("NET-CON-14", at_ms, f"node {node_id}", f"is kept after {idle_ms} ms without use")

    def overdue(self, now_ms: int) -> None:
        for node_id, node in self._nodes.items():
            if node.state == "CONNECTING":
                self._set_up_late(node, now_ms, str(node_id))
            elif node.state not in _DEAD:
                self._late_requests(node, now_ms, f"node {node_id}")
                self._idle_late(node, now_ms, node_id)
