"""TxnRequestQueue: the requests that wait, the one in flight, and which broker is which coordinator.

One request is in flight at a time, and those that wait go by priority (PRD-TXN-12). A lookup has the highest one, so a
request never waits in front of the lookup of its own coordinator.
"""

from __future__ import annotations

from clients.reference.errors import TransactionError
from clients.reference.ports import Node
from clients.reference.producer.transactions.transactional_request_result import TransactionalRequestResult
from clients.reference.producer.transactions.txn_request_handlers import (
    FindCoordinatorHandler,
    TxnRequestHandler,
)
from clients.reference.producer.transactions.txn_requests import Coordinator
from clients.reference.telemetry.trace import CoordinatorFound, CoordinatorLost, Trace


class TxnRequestQueue:
    """``waiting`` are the queued requests, ``in_flight`` the one that has no response, if there is one."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._coordinators: dict[Coordinator, Node] = {}
        self.waiting: list[TxnRequestHandler] = []
        self.in_flight: TxnRequestHandler | None = None

    def first(self) -> TxnRequestHandler | None:
        """Return the request that must be sent next, the oldest of the highest priority. It stays in the queue."""
        return min(self.waiting, key=lambda handler: handler.priority, default=None)

    def add(self, handler: TxnRequestHandler, retry_at_ms: int = 0) -> None:
        """Queue a request, which may not be sent before ``retry_at_ms``."""
        handler.retry_at_ms = retry_at_ms
        self.waiting.append(handler)

    def sent(self, handler: TxnRequestHandler) -> None:
        """Record that a queued request was sent."""
        self.waiting.remove(handler)
        self.in_flight = handler

    def drop(self, handler: TxnRequestHandler, error: TransactionError) -> None:
        """Take a request out that nothing needs any more. Its call fails."""
        self.waiting.remove(handler)
        handler.result.fail(error)

    def results(self) -> list[TransactionalRequestResult]:
        """Return the results of all requests that have no response."""
        in_flight = [self.in_flight] if self.in_flight else []
        return [handler.result for handler in [*self.waiting, *in_flight]]

    # Coordinators

    def node_of(self, coordinator: Coordinator) -> Node | None:
        """Return the broker that is this coordinator, if it is known."""
        return self._coordinators.get(coordinator)

    def look_up(self, coordinator: Coordinator, now_ms: int, why: str, *, after_ms: int = 0) -> None:
        """Forget where a coordinator is, and find it, not before ``after_ms`` from now (PRD-TXN-10)."""
        lost = self._coordinators.pop(coordinator, None)
        if lost is not None:
            self._trace(CoordinatorLost(at_ms=now_ms, node=lost.id, reason=why))
        if not any(
            isinstance(each, FindCoordinatorHandler) and each.of == coordinator for each in self.waiting
        ):
            self.add(FindCoordinatorHandler(coordinator), now_ms + after_ms)

    def found(self, coordinator: Coordinator, node: Node, now_ms: int) -> None:
        """Store where a coordinator is."""
        self._coordinators[coordinator] = node
        self._trace(CoordinatorFound(at_ms=now_ms, node=node.id, broker=node.id))
