"""Requests that were written, or are being written, and have no answer yet: one FIFO queue a node.

A broker answers a connection's requests in order, so the oldest request of the queue is the one that a response
answers (NET-INF-01). A request may follow only when the one before it is written completely (NET-INF-03).
"""

from __future__ import annotations

from collections import deque

import msgspec

from clients.reference.common.requests import ClientRequest


class InFlightRequest(msgspec.Struct):
    """One written request. ``sent`` turns true when its last byte is with the operating system.

    ``throttle_ms`` is how long the broker has asked to be left alone since the request was written.
    """

    node_id: int
    request: ClientRequest
    api_version: int
    correlation_id: int
    sent_ms: int
    sent: bool = False
    throttle_ms: int = 0

    @property
    def expires_ms(self) -> int:
        """The first millisecond at which the answer has taken strictly longer than allowed (NET-TMO-01, -04)."""
        return self.sent_ms + self.throttle_ms + self.request.timeout_ms + 1


class InFlightRequests:
    """The queues of all nodes; ``max_per_connection`` bounds each."""

    def __init__(self, max_per_connection: int) -> None:
        self._max_per_connection = max_per_connection
        self._queues: dict[int, deque[InFlightRequest]] = {}

    def add(self, request: InFlightRequest) -> None:
        """Behind all others of its node; ``can_send_more`` must have allowed it."""
        self._queues.setdefault(request.node_id, deque()).append(request)

    def can_send_more(self, node_id: int) -> bool:
        """The queue has room, and its newest request is written completely (NET-INF-03)."""
        queue = self._queues.get(node_id)
        return not queue or (queue[-1].sent and len(queue) < self._max_per_connection)

    def newest(self, node_id: int) -> InFlightRequest:
        """The one being written, or written last; the node must have one."""
        return self._queues[node_id][-1]

    def oldest(self, node_id: int) -> InFlightRequest | None:
        """The one that the next response answers; None where none is outstanding."""
        queue = self._queues.get(node_id)
        return queue[0] if queue else None

    def complete_oldest(self, node_id: int) -> InFlightRequest:
        """Its answer is here (NET-INF-01); the node must have one."""
        return self._queues[node_id].popleft()

    def complete_newest(self, node_id: int) -> InFlightRequest:
        """For a request that expects no answer (NET-INF-05): it ends when it is written."""
        return self._queues[node_id].pop()

    def clear(self, node_id: int) -> list[InFlightRequest]:
        """Take all requests of a node, oldest first (NET-INF-06)."""
        return list(self._queues.pop(node_id, ()))

    def throttled(self, node_id: int, throttle_ms: int) -> None:
        """The node's requests are not late for as long as it is throttled (NET-TMO-04)."""
        for request in self._queues.get(node_id, ()):
            request.throttle_ms += throttle_ms

    def count(self, node_id: int) -> int:
        """How many have no answer yet, the one being written included."""
        return len(self._queues.get(node_id, ()))

    def nodes_with_expired_requests(self, now_ms: int) -> list[int]:
        """Those whose connection is to be closed, for one late request is enough (NET-TMO-01, -02)."""
        return [
            node_id
            for node_id, queue in self._queues.items()
            if any(request.expires_ms <= now_ms for request in queue)
        ]

    def next_expiry_ms(self) -> int | None:
        """When the first of all requests will have taken too long; None where nothing is outstanding."""
        first_ms: int | None = None
        for queue in self._queues.values():
            for request in queue:
                expires_ms = request.expires_ms
                if first_ms is None or expires_ms < first_ms:
                    first_ms = expires_ms
        return first_ms
