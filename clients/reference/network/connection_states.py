"""ClusterConnectionStates: the state of each node's connection, and when it may be used or retried.

The normal path is DISCONNECTED -> CONNECTING -> CHECKING_API_VERSIONS -> READY (NET-CON-01). Two counters grow with
failures. One determines the reconnect backoff (KIP-144). Only READY resets it, so a listener that accepts and then
closes is backed off like one that refuses (NET-CON-06). The other one determines the connection setup timeout
(KIP-601).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clients.reference.common.backoff import ExponentialBackoff
from clients.reference.config.client_config import ClientConfig
from clients.reference.errors import AuthenticationError
from clients.reference.network.node_addresses import NodeAddresses, Resolve
from clients.reference.ports import Address, Jitter, Node
from clients.reference.states import CONNECTION, ConnectionEvent, ConnectionState
from clients.reference.telemetry.trace import (
    ConnectAttempt,
    NodeThrottled,
    ReconnectBackoff,
    StateChanged,
    Trace,
)


@dataclass(slots=True)
class NodeConnection:
    """One node's connection.

    ``can_connect_ms`` is the end of its backoff. ``setup_expires_ms`` is the first millisecond after its setup
    timeout. ``throttled_until_ms`` is the end of the broker's throttling. ``failures`` determines the reconnect
    backoff, ``setup_failures`` the setup timeout.
    """

    node: Node
    addresses: NodeAddresses
    state: ConnectionState = CONNECTION.initial
    failures: int = 0
    setup_failures: int = 0
    last_attempt_ms: int = 0
    can_connect_ms: int = 0
    setup_timeout_ms: int = 0
    setup_expires_ms: int = 0
    throttled_until_ms: int = 0
    authentication_error: AuthenticationError | None = None

    @property
    def is_disconnected(self) -> bool:
        """Whether the node is neither connected nor connecting. Includes a failed authentication."""
        state = self.state
        return state is ConnectionState.DISCONNECTED or state is ConnectionState.AUTHENTICATION_FAILED

    @property
    def is_connected(self) -> bool:
        """Whether bytes can be exchanged: API versions have been requested, or are known."""
        state = self.state
        return state is ConnectionState.READY or state is ConnectionState.CHECKING_API_VERSIONS


class ClusterConnectionStates:
    """The connections by node id. Every transition goes through the CONNECTION table and is traced."""

    def __init__(self, config: ClientConfig, resolve: Resolve, jitter: Jitter, trace: Trace) -> None:
        self._reconnect = ExponentialBackoff(
            config.reconnect_backoff_ms, config.reconnect_backoff_max_ms, jitter
        )
        self._setup = ExponentialBackoff(
            config.socket_connection_setup_timeout_ms, config.socket_connection_setup_timeout_max_ms, jitter
        )
        self._resolve = resolve
        self._trace = trace
        self._nodes: dict[int, NodeConnection] = {}
        self.lookups: set[int] = set()  # the nodes in CONNECTING whose names are being looked up

    # Queries

    def state(self, node_id: int) -> ConnectionState:
        """Return the node's state. DISCONNECTED if it was never tried."""
        connection = self._nodes.get(node_id)
        return connection.state if connection else CONNECTION.initial

    def known(self) -> list[int]:
        """Return the ids of all nodes that were tried and not forgotten, whatever their state."""
        return list(self._nodes)

    def is_ready(self, node_id: int, now_ms: int) -> bool:
        """Return whether the node is READY and not throttled (NET-CON-12)."""
        connection = self._nodes.get(node_id)
        return (
            connection is not None
            and connection.state is ConnectionState.READY
            and connection.throttled_until_ms <= now_ms
        )

    def is_disconnected(self, node_id: int) -> bool:
        """Return whether the node is disconnected. True if it was never tried."""
        connection = self._nodes.get(node_id)
        return connection is None or connection.is_disconnected

    def is_preparing(self, node_id: int) -> bool:
        """Return whether the node is connecting or checking API versions."""
        state = self.state(node_id)
        return state is ConnectionState.CONNECTING or state is ConnectionState.CHECKING_API_VERSIONS

    def authentication_error(self, node_id: int) -> AuthenticationError | None:
        """Return why the node refused the credentials. The error is kept until the node is READY (NET-CON-11)."""
        connection = self._nodes.get(node_id)
        return connection.authentication_error if connection else None

    def can_connect(self, node: Node, now_ms: int) -> bool:
        """Return whether an attempt may start. A node at a new address ignores the old backoff (NET-CON-10)."""
        connection = self._nodes.get(node.id)
        if connection is None:
            return True
        moved = (connection.node.host, connection.node.port) != (node.host, node.port)
        return connection.is_disconnected and (moved or now_ms >= connection.can_connect_ms)

    def usable_at_ms(self, node_id: int, now_ms: int) -> int | None:
        """Return when the node's backoff or throttling ends, or None if only a network event can change its state.

        None applies while the node is connecting, or connected and not throttled. The result is 0 for a node that was
        never tried.
        """
        connection = self._nodes.get(node_id)
        if connection is None:
            return 0
        if connection.is_disconnected:
            return connection.can_connect_ms
        throttled = connection.is_connected and connection.throttled_until_ms > now_ms
        return connection.throttled_until_ms if throttled else None

    def host(self, node_id: int) -> str:
        """Return the host of a node that was tried."""
        return self._nodes[node_id].node.host

    def last_attempt_ms(self, node_id: int) -> int:
        """Return when its last attempt started, or its connection ended if that was later. -1 if it was never tried."""
        connection = self._nodes.get(node_id)
        return connection.last_attempt_ms if connection else -1

    def setup_expiries(self) -> Iterator[tuple[int, int]]:
        """Yield (node id, first millisecond after the setup timeout) for each node whose socket is being connected."""
        for node_id, connection in self._nodes.items():
            if connection.state is ConnectionState.CONNECTING and node_id not in self.lookups:
                yield node_id, connection.setup_expires_ms

    # Transitions

    def connecting(self, node: Node, now_ms: int) -> Address | None:
        """Start a connection attempt and return its address. See ``next_address`` for None.

        A node at a new address starts without the old one's failures (NET-CON-10).
        """
        connection = self._nodes.get(node.id)
        if connection is None or connection.node != node:
            addresses = NodeAddresses(node.host, node.port, self._resolve)
            connection = self._nodes[node.id] = NodeConnection(node, addresses)
        self._move(connection, ConnectionEvent.CONNECT, now_ms)
        connection.setup_timeout_ms = self._setup.delay_ms(connection.setup_failures)
        connection.last_attempt_ms = now_ms
        return self.next_address(node.id, now_ms)

    def next_address(self, node_id: int, now_ms: int) -> Address | None:
        """Return the address of an attempt, whose setup timeout begins.

        None if the host's name is unknown, or is being looked up: the node is in ``lookups`` then.
        """
        connection = self._nodes[node_id]
        if not connection.addresses.look_up():
            self.lookups.add(node_id)
            return None
        self.lookups.discard(node_id)
        connection.setup_expires_ms = now_ms + connection.setup_timeout_ms + 1
        address = connection.addresses.next()
        self._trace(
            ConnectAttempt(
                at_ms=now_ms,
                node=node_id,
                host=connection.node.host,
                address="" if address is None else f"{address[0]}:{address[1]}",
                setup_timeout_ms=connection.setup_timeout_ms,
            )
        )
        return address

    def checking_api_versions(self, node_id: int, now_ms: int) -> None:
        """Record that the connection is established. Reset the setup timeout, but not the backoff (NET-CON-06)."""
        connection = self._nodes[node_id]
        self._move(connection, ConnectionEvent.CONNECTED, now_ms)
        connection.setup_failures = 0

    def lower_api_versions(self, node_id: int, now_ms: int) -> None:
        """Record that the API versions are requested again, at a lower version (NET-CON-02)."""
        self._move(self._nodes[node_id], ConnectionEvent.LOWER_API_VERSIONS, now_ms)

    def ready(self, node_id: int, now_ms: int) -> None:
        """Record that the API versions are known. Reset failures and the authentication error (NET-CON-06, -11)."""
        connection = self._nodes[node_id]
        self._move(connection, ConnectionEvent.API_VERSIONS, now_ms)
        connection.failures = 0
        connection.authentication_error = None

    def throttle(self, node_id: int, throttle_ms: int, now_ms: int) -> None:
        """Throttle the node. A longer throttling that is already in effect still applies (NET-CON-12)."""
        connection = self._nodes[node_id]
        connection.throttled_until_ms = max(connection.throttled_until_ms, now_ms + throttle_ms)
        self._trace(
            NodeThrottled(
                at_ms=now_ms, node=node_id, throttle_ms=throttle_ms, until_ms=connection.throttled_until_ms
            )
        )

    def disconnected(self, node_id: int, now_ms: int, why: str) -> None:
        """Record that a connection ended, in any connected or connecting state. Start its backoff (NET-CON-05, -07)."""
        connection = self._nodes[node_id]
        self.lookups.discard(node_id)
        if connection.is_connected:
            connection.addresses.forget()
        if connection.state is ConnectionState.CONNECTING:
            connection.setup_failures += 1
        else:
            connection.setup_failures = 0
        self._move(connection, ConnectionEvent.DISCONNECT, now_ms, why)
        self._back_off(connection, now_ms)

    def authentication_failed(self, node_id: int, error: AuthenticationError, now_ms: int) -> None:
        """Record that authentication failed on the connection that just ended: one more failure (NET-CON-11).

        ``error`` is kept for the callers.
        """
        connection = self._nodes[node_id]
        self._move(connection, ConnectionEvent.AUTHENTICATION_FAILED, now_ms, str(error))
        connection.authentication_error = error
        self._back_off(connection, now_ms)

    def forget(self, node_id: int, now_ms: int) -> None:
        """Forget the node, as if it had never been known (NET-INF-07)."""
        connection = self._nodes.pop(node_id, None)
        self.lookups.discard(node_id)
        if connection is not None:
            self._move(connection, ConnectionEvent.FORGET, now_ms)

    def _back_off(self, connection: NodeConnection, now_ms: int) -> None:
        delay_ms = self._reconnect.delay_ms(connection.failures)
        connection.failures += 1
        connection.last_attempt_ms = now_ms
        connection.can_connect_ms = now_ms + delay_ms
        self._trace(
            ReconnectBackoff(
                at_ms=now_ms, node=connection.node.id, failures=connection.failures, delay_ms=delay_ms
            )
        )

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
                before=before.told,
                cause=event.told,
                after=connection.state.told,
                detail=detail,
            )
        )
