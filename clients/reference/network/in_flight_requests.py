"""Requests that are being written or await their response: one FIFO queue per node.

A broker answers a connection's requests in order, so each response belongs to the oldest request of the queue
(NET-INF-01). A request may follow only after the previous one is completely written (NET-INF-03).
"""

from __future__ import annotations

from collections import deque

import msgspec

from clients.reference.common.requests import ClientRequest


class InFlightRequest(msgspec.Struct):
    """One request in flight. ``sent`` becomes true once its last byte is passed to the operating system.

    ``throttle_ms`` is the total time for which the broker has throttled the client since the request was written.
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
        """The first millisecond at which the response has taken strictly longer than allowed (NET-TMO-01, -04)."""
        return self.sent_ms + self.throttle_ms + self.request.timeout_ms + 1


class InFlightRequests:
    """The queues of all nodes. ``max_per_connection`` limits each."""

    def __init__(self, max_per_connection: int) -> None:
        self._max_per_connection = max_per_connection
        self._queues: dict[int, deque[InFlightRequest]] = {}

    def add(self, request: InFlightRequest) -> None:
        """Append a request to its node's queue. ``can_send_more`` must have returned True."""
        self._queues.setdefault(request.node_id, deque()).append(request)

    def can_send_more(self, node_id: int) -> bool:
        """Return whether the queue has room and its newest request is completely written (NET-INF-03)."""
        queue = self._queues.get(node_id)
        return not queue or (queue[-1].sent and len(queue) < self._max_per_connection)

    def newest(self, node_id: int) -> InFlightRequest:
        """Return the request that was added last. The node must have one."""
        return self._queues[node_id][-1]

    def oldest(self, node_id: int) -> InFlightRequest | None:
        """Return the request that the next response answers. None if there is none outstanding."""
        queue = self._queues.get(node_id)
        return queue[0] if queue else None

    def complete_oldest(self, node_id: int) -> InFlightRequest:
        """Remove and return the oldest request, which was answered (NET-INF-01). The node must have one."""
        return self._queues[node_id].popleft()

    def complete_newest(self, node_id: int) -> InFlightRequest:
        """Remove and return the newest request, which expects no response: it ends once it is written (NET-INF-05)."""
        return self._queues[node_id].pop()

    def clear(self, node_id: int) -> list[InFlightRequest]:
        """Remove and return all requests of a node, oldest first (NET-INF-06)."""
        return list(self._queues.pop(node_id, ()))

    def throttled(self, node_id: int, throttle_ms: int) -> None:
        """Extend the timeouts of the node's requests by the time for which it is throttled (NET-TMO-04)."""
        for request in self._queues.get(node_id, ()):
            request.throttle_ms += throttle_ms

    def count(self, node_id: int) -> int:
        """Return the number of unanswered requests, including the one that is being written."""
        return len(self._queues.get(node_id, ()))

    def has_any(self) -> bool:
        """Return whether any node has an unanswered request."""
        return any(self._queues.values())

    def nodes_with_expired_requests(self, now_ms: int) -> list[int]:
        """Return the nodes whose connection must be closed. One expired request is enough (NET-TMO-01, -02)."""
        return [
            node_id
            for node_id, queue in self._queues.items()
            if any(request.expires_ms <= now_ms for request in queue)
        ]

    def next_expiry_ms(self) -> int | None:
        """Return when the first of all requests expires. None if there is none outstanding."""
        first_ms: int | None = None
        for queue in self._queues.values():
            for request in queue:
                expires_ms = request.expires_ms
                if first_ms is None or expires_ms < first_ms:
                    first_ms = expires_ms
        return first_ms
