"""Attempts to connect: the lookup of a node's name, then a connection to one of its addresses."""

from __future__ import annotations

from collections.abc import Callable

from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.idle_connections import IdleConnections
from clients.reference.ports import Address, Node, Selector


class ConnectionAttempts:
    """Starts attempts and continues those that wait for a lookup. ``is_unknown`` ends one without any address."""

    def __init__(
        self,
        states: ClusterConnectionStates,
        selector: Selector,
        idle: IdleConnections,
        is_unknown: Callable[[int, int], None],
    ) -> None:
        self._states = states
        self._selector = selector
        self._idle = idle
        self._is_unknown = is_unknown

    def start(self, node: Node, now_ms: int) -> None:
        """Start an attempt."""
        self._connect(node.id, self._states.connecting(node, now_ms), now_ms)

    def proceed(self, now_ms: int) -> None:
        """Continue the attempts whose names have been looked up."""
        for node_id in sorted(self._states.lookups):
            self._connect(node_id, self._states.next_address(node_id, now_ms), now_ms)

    def _connect(self, node_id: int, address: Address | None, now_ms: int) -> None:
        if address is not None:
            self._idle.used(node_id, now_ms)
            self._selector.connect(node_id, address)
        elif node_id not in self._states.lookups:
            self._is_unknown(node_id, now_ms)
