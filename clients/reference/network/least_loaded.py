"""Selection of the broker for a request that any broker can answer (NET-CON-13)."""

from __future__ import annotations

from collections.abc import Sequence

from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.in_flight_requests import InFlightRequests
from clients.reference.ports import Jitter, Node


def starting_anywhere(nodes: Sequence[Node], jitter: Jitter) -> list[Node]:
    """Rotate the nodes by a random amount, so that ties do not always go to the same node."""
    if not nodes:
        return []
    start = int((jitter() + 1) / 2 * len(nodes)) % len(nodes)
    return [*nodes[start:], *nodes[:start]]


def least_loaded(
    nodes: Sequence[Node], states: ClusterConnectionStates, in_flight: InFlightRequests, now_ms: int
) -> int | None:
    """Return the ready node with the fewest requests in flight, or else the best one to wait for or to connect to.

    Without a ready node, it is a node that is connecting, or else the one tried longest ago. None if all are
    throttled, full, or in their backoff.
    """
    sendable = [
        node.id for node in nodes if states.is_ready(node.id, now_ms) and in_flight.can_send_more(node.id)
    ]
    if sendable:
        return min(sendable, key=in_flight.count)
    preparing = [node.id for node in nodes if states.is_preparing(node.id)]
    if preparing:
        return preparing[0]
    connectable = [node.id for node in nodes if states.can_connect(node, now_ms)]
    return min(connectable, key=states.last_attempt_ms, default=None)
