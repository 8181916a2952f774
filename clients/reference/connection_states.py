"""ClusterConnectionStates: for each node, where its connection stands and when it may be tried again.

The walk is DISCONNECTED -> CONNECTING -> CHECKING_API_VERSIONS -> READY (NET-CON-01). Two counters grow with
failures: one spaces the attempts (KIP-144; only READY resets it, so a listener that accepts and closes is
backed off like one that refuses, NET-CON-06), one widens the time that a connection may take to be made (KIP-601).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clients.reference.backoff import ExponentialBackoff
from clients.reference.config import ProducerConfig
from clients.reference.ports import Jitter, Node
from clients.reference.states import CONNECTION, ConnectionEvent, ConnectionState
from clients.reference.trace import StateChanged, Trace


@dataclass(slots=True)
class NodeConnection:
    """One node's connection; ``can_connect_ms`` is the end of its backoff, ``setup_expires_ms`` of its set-up."""

    node: Node
    state: ConnectionState = CONNECTION.initial
    failures: int = 0
    setup_failures: int = 0
    last_attempt_ms: int = 0
    can_connect_ms: int = 0
    setup_expires_ms: int = 0


class ClusterConnectionStates:
    """The connections by node id; every move goes through the CONNECTION table and is traced."""

    def __init__(self, config: ProducerConfig, jitter: Jitter, trace: Trace) -> None:
        self._reconnect = ExponentialBackoff(
            config.reconnect_backoff_ms, config.reconnect_backoff_max_ms, jitter
        )
        self._setup = ExponentialBackoff(
            config.socket_connection_setup_timeout_ms, config.socket_connection_setup_timeout_max_ms, jitter
        )
        self._trace = trace
        self._nodes: dict[int, NodeConnection] = {}

    def state(self, node_id: int) -> ConnectionState:
        connection = self._nodes.get(node_id)
        return connection.state if connection else CONNECTION.initial

    def known(self) -> list[int]:
        return list(self._nodes)

    def is_ready(self, node_id: int) -> bool:
        return self.state(node_id) is ConnectionState.READY

    def can_connect(self, node: Node, now_ms: int) -> bool:
        connection = self._nodes.get(node.id)
        if connection is None:
            return True
        if connection.state is not ConnectionState.DISCONNECTED:
            return False
        moved = (connection.node.host, connection.node.port) != (node.host, node.port)
        return moved or now_ms >= connection.can_connect_ms

    def connect_at_ms(self, node_id: int) -> int | None:
        """When a disconnected node may be tried again; None while it is connected or being connected."""
        connection = self._nodes.get(node_id)
        if connection is None:
            return 0
        return connection.can_connect_ms if connection.state is ConnectionState.DISCONNECTED else None

    def last_attempt_ms(self, node_id: int) -> int:
        connection = self._nodes.get(node_id)
        return connection.last_attempt_ms if connection else -1

    def connecting(self, node: Node, now_ms: int) -> None:
        """An attempt begins; an address that has changed forgets the failures of the old one (NET-CON-10)."""
        connection = self._nodes.get(node.id)
        if connection is None or connection.node != node:
            connection = self._nodes[node.id] = NodeConnection(node)
        self._move(connection, ConnectionEvent.CONNECT, now_ms)
        connection.last_attempt_ms = now_ms
        connection.setup_expires_ms = now_ms + self._setup.delay_ms(connection.setup_failures) + 1

    def checking_api_versions(self, node_id: int, now_ms: int) -> None:
        connection = self._nodes[node_id]
        self._move(connection, ConnectionEvent.CONNECTED, now_ms)
        connection.setup_failures = 0

    def lower_api_versions(self, node_id: int, now_ms: int) -> None:
        self._move(self._nodes[node_id], ConnectionEvent.LOWER_API_VERSIONS, now_ms)

    def ready(self, node_id: int, now_ms: int) -> None:
        connection = self._nodes[node_id]
        self._move(connection, ConnectionEvent.API_VERSIONS, now_ms)
        connection.failures = 0

    def disconnected(self, node_id: int, now_ms: int, why: str) -> None:
        """A connection ended, in whatever state: the next attempt waits (NET-CON-05, -07)."""
        connection = self._nodes[node_id]
        was_connecting = connection.state is ConnectionState.CONNECTING
        self._move(connection, ConnectionEvent.DISCONNECT, now_ms, why)
        connection.can_connect_ms = now_ms + self._reconnect.delay_ms(connection.failures)
        connection.failures += 1
        if was_connecting:
            connection.setup_failures += 1

    def setup_expiries(self) -> Iterator[tuple[int, int]]:
        """(node id, first millisecond at which its set-up took too long) of all nodes being connected."""
        for node_id, connection in self._nodes.items():
            if connection.state is ConnectionState.CONNECTING:
                yield node_id, connection.setup_expires_ms

    def _move(
        self, connection: NodeConnection, event: ConnectionEvent, now_ms: int, detail: str = ""
    ) -> None:
        before = connection.state
        connection.state = CONNECTION.after(before, event)
        self._trace(
            StateChanged(
                at_ms=now_ms,
                machine=CONNECTION.name,
                subject=str(connection.node.id),
                before=before.value,
                cause=event.value,
                after=connection.state.value,
                detail=detail,
            )
        )
