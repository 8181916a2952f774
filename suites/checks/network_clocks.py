"""The clocks of connections, requests and metadata, as the catalogue sets them: what may not come early, nor late.

A part of the check ``deadlines``. Each clock follows the client's events and knows nothing that they do not tell, so a
limit is judged only where the client alone decides when it is over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil
from typing import Any

from clients.reference.trace import (
    ConnectAttempt,
    ConnectionEnded,
    MetadataFailed,
    MetadataUpdated,
    ReconnectBackoff,
    RequestLost,
    RequestSent,
    ResponseReceived,
    SendBlocked,
    StateChanged,
    TraceEvent,
)
from suites.checks.in_flight import THROTTLES_SINCE
from suites.checks.trace_model import Breach, Monitor

_DEAD = frozenset({"DISCONNECTED", "AUTHENTICATION_FAILED"})
_BACKOFF_RULES = {"READY": "NET-CON-07", "CHECKING_API_VERSIONS": "NET-CON-06"}


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings that are limits of time, in ms; ``slack_ms`` is how late what is due may be."""

    request_ms: int = 30_000
    setup_ms: int = 10_000
    setup_max_ms: int = 30_000
    reconnect_ms: int = 50
    reconnect_max_ms: int = 1_000
    retry_ms: int = 100
    retry_max_ms: int = 1_000
    delivery_ms: int = 120_000
    linger_ms: int = 5
    max_block_ms: int = 60_000
    metadata_max_age_ms: int = 300_000
    metadata_max_idle_ms: int = 300_000
    connections_max_idle_ms: int = 540_000
    close_ms: int = 10_000
    answers_produce: bool = True
    slack_ms: int = 2


@lru_cache(maxsize=1_024)
def growing_ms(base_ms: int, max_ms: int, earlier: int) -> tuple[int, int]:
    """The shortest and the longest wait after so many earlier failures: twice as long each time, 20 % either way."""
    if max_ms <= base_ms:
        return max_ms, max_ms
    plain_ms = min(base_ms << min(earlier, 31), max_ms)
    return int(plain_ms * 0.8), min(ceil(plain_ms * 1.2), max_ms)


class Clocks(Monitor):
    """A monitor of limits: ``late`` are its breaches that a machine that stood still could explain.

    ``moved`` is called with the moves of ``machines``.
    """

    machines: tuple[str, ...] = ()

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.limits = limits
        self.late: list[Breach] = []

    def too_late(self, requirement: str, at_ms: int, subject: str, what: str) -> None:
        self.late.append(Breach(requirement, at_ms, subject, what))

    def moved(self, event: StateChanged) -> None:
        """A machine of the client moved."""

    def overdue(self, now_ms: int) -> None:
        """The trace ends at ``now_ms``: what should have happened by then is late."""


@dataclass(slots=True)
class _Request:
    correlation_id: int
    api: str
    version: int
    sent_ms: int
    throttle_ms: int = 0


@dataclass(slots=True)
class _Node:
    """A node's connection; ``unwritten_ms`` is when the newest request without an answer was handed over (acks=0)."""

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
    """Set-up, backoff, request timeout, throttling and idleness of every node."""

    machines = ("connection", "life")

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._nodes: dict[int, _Node] = {}
        self.handlers = {
            ConnectAttempt: self._attempt,
            ConnectionEnded: self._ended,
            ReconnectBackoff: self._backs_off,
            RequestSent: self._sent,
            ResponseReceived: self._answered,
            RequestLost: self._lost,
        }

    def _node(self, node_id: int) -> _Node:
        node = self._nodes.get(node_id)
        if node is None:
            node = self._nodes[node_id] = _Node()
        return node

    # the walk of a connection

    def moved(self, event: StateChanged) -> None:
        if event.machine == "life":
            if event.after == "CLOSED":
                self._nodes.clear()
            return
        node_id, cause = int(event.subject), event.cause
        node = self._node(node_id)
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
        node, limits = self._node(event.node), self.limits
        earlier = max(node.failures - 1, 0)
        least_ms, most_ms = growing_ms(limits.reconnect_ms, limits.reconnect_max_ms, earlier)
        if not least_ms <= event.delay_ms <= most_ms:
            what = f"waits {event.delay_ms} ms after failure {node.failures}, not {least_ms} to {most_ms}"
            self.accuse(node.rule, event, f"node {event.node}", what)
        node.may_connect_ms = max(node.may_connect_ms, event.at_ms + event.delay_ms)

    def _attempt(self, event: ConnectAttempt) -> None:
        """A node at another address has no past (NET-CON-10)."""
        node, limits = self._node(event.node), self.limits
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
        """Why the client ended it must be true; whatever ended it, nothing on it may have been late."""
        node, at_ms, subject = self._node(event.node), event.at_ms, f"node {event.node}"
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
                    "NET-CON-14", event, subject, f"was idle with {len(node.queue)} requests unanswered"
                )
            if at_ms - node.used_ms <= self.limits.connections_max_idle_ms:
                what = f"was closed after {at_ms - node.used_ms} ms without use"
                self.accuse("NET-CON-14", event, subject, what)
        self._late_requests(node, at_ms, subject)

    # requests

    def _sent(self, event: RequestSent) -> None:
        node = self._node(event.node)
        if event.at_ms < node.throttled_until_ms and event.api != "ApiVersions":
            what = f"was sent {event.api} {node.throttled_until_ms - event.at_ms} ms too early: it throttles"
            self.accuse("NET-CON-12", event, f"node {event.node}", what)
        self._idle_late(node, event.at_ms, event.node)
        node.used_ms, node.unwritten_ms = event.at_ms, None
        if self.limits.answers_produce or event.api != "Produce":
            node.queue.append(_Request(event.correlation_id, event.api, event.version, event.at_ms))
        else:
            node.unwritten_ms = event.at_ms

    def _answered(self, event: ResponseReceived) -> None:
        node, at_ms = self._node(event.node), event.at_ms
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
        queue = self._node(event.node).queue
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
        """Only where every use of the connection is an event: without answers the end of a write is none."""
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


class MetadataClocks(Clocks):
    """When the next question may come, and when it must.

    A topic that is new may be asked for at once: it shows as a send that waits for metadata. A topic that comes back
    after metadata.max.idle.ms need not show, so from then on nothing is early.
    """

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._failures = self._equivalent = 0
        self._updated_ms: int | None = None
        self._full_ms: int | None = None
        self._not_before = (0, "MET-02")
        self._due_by_ms = 0
        self._is_asking = False
        self._has_new_topic = self._asks_for_new = False
        self._idle_from_ms: int | None = None
        self.handlers = {
            MetadataFailed: self._failed,
            MetadataUpdated: self._updated,
            SendBlocked: self._blocked,
            RequestSent: self._sent,
        }

    def _growing_ms(self, earlier: int) -> tuple[int, int]:
        return growing_ms(self.limits.retry_ms, self.limits.retry_max_ms, earlier)

    def _failed(self, event: MetadataFailed) -> None:
        least_ms, most_ms = self._growing_ms(self._failures)
        self._failures += 1
        self._equivalent = 0
        self._is_asking = False
        self._not_before = event.at_ms + least_ms, "MET-02"
        self._due_by_ms = event.at_ms + most_ms

    def _updated(self, event: MetadataUpdated) -> None:
        at_ms, is_full = event.at_ms, not self._asks_for_new
        self._failures, self._is_asking = 0, False
        self._updated_ms = at_ms
        if is_full or self._full_ms is None:
            self._full_ms = at_ms
        self._equivalent = 0 if event.leaders_changed else self._equivalent + 1
        least_ms, most_ms = self._growing_ms(0)
        self._due_by_ms = at_ms + most_ms
        if self._has_new_topic:  # it came while the question was under way, and is asked for at once
            self._not_before = 0, "MET-02"
            return
        same_ms = at_ms + self._growing_ms(self._equivalent - 1)[0] if self._equivalent else 0
        same_ms = min(same_ms, self._full_ms + self.limits.metadata_max_age_ms)
        self._not_before = max(at_ms + least_ms, same_ms), "MET-03"

    def _blocked(self, event: SendBlocked) -> None:
        if event.waiting_for == "metadata":
            self._has_new_topic = True
            self._equivalent = 0
            self._not_before = 0, "MET-02"

    def _sent(self, event: RequestSent) -> None:
        if self._idle_from_ms is None:
            self._idle_from_ms = event.at_ms + self.limits.metadata_max_idle_ms
        if event.api == "Metadata":
            self._asked(event)
        elif event.api == "Produce" and not self._is_asking and self._updated_ms is not None:
            aged_ms = max(self._updated_ms + self.limits.metadata_max_age_ms, self._due_by_ms)
            if event.at_ms > aged_ms + self.limits.slack_ms:
                what = f"sent Produce with metadata of {event.at_ms - self._updated_ms} ms ago"
                self.too_late("MET-01", event.at_ms, "", what)

    def _asked(self, event: RequestSent) -> None:
        not_before_ms, rule = self._not_before
        assert self._idle_from_ms is not None
        if event.at_ms < min(not_before_ms, self._idle_from_ms):
            self.accuse(rule, event, "", f"asked for metadata {not_before_ms - event.at_ms} ms too early")
        self._asks_for_new, self._has_new_topic = self._has_new_topic, False
        self._is_asking = True


def together(parts: list[Clocks]) -> dict[type[TraceEvent], Callable[[Any], None]]:
    """One handler a kind of event, for all parts that look at it; moves go only to those who know the machine."""
    handlers: dict[type[TraceEvent], list[Callable[[Any], None]]] = {}
    movers: dict[str, list[Callable[[Any], None]]] = {}
    for part in parts:
        for kind, handler in part.handlers.items():
            handlers.setdefault(kind, []).append(handler)
        for machine in part.machines:
            movers.setdefault(machine, []).append(part.moved)

    def moved(event: StateChanged) -> None:
        for handler in movers.get(event.machine, ()):
            handler(event)

    merged = {kind: each[0] if len(each) == 1 else _all_of(each) for kind, each in handlers.items()}
    return merged | {StateChanged: moved}


def _all_of(handlers: list[Callable[[Any], None]]) -> Callable[[Any], None]:
    def handle(event: TraceEvent) -> None:
        for handler in handlers:
            handler(event)

    return handle
