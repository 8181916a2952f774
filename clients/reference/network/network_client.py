"""NetworkClient: sends requests to nodes, and establishes and replaces their connections.

One ``poll`` is one round, always in the same order: requests that were aborted between rounds, finished writes,
responses, lost connections, an idle connection, new connections, setups and requests that timed out, a rebootstrap.
The completion callbacks run last. A request that was accepted completes exactly once: with a body, as disconnected, or
as unsupported. A response after a timeout is never applied, because the timeout closes the connection (NET-TMO-05).
"""

from __future__ import annotations

from clients.reference.common.earliest import earliest
from clients.reference.common.requests import ClientRequest, ClientResponse, Message, api_versions_question
from clients.reference.config.client_config import ClientConfig
from clients.reference.errors import AuthenticationError, IllegalStateError
from clients.reference.metadata.metadata import Metadata
from clients.reference.network.api_versions import ApiVersions, offered_by, refusal, version_to_ask_instead
from clients.reference.network.completions import Completions
from clients.reference.network.connection_attempts import ConnectionAttempts
from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.network.disconnect_reasons import LocalEnd, explained
from clients.reference.network.idle_connections import IdleConnections
from clients.reference.network.in_flight_requests import InFlightRequest, InFlightRequests
from clients.reference.network.least_loaded import least_loaded, starting_anywhere
from clients.reference.network.node_addresses import every_address
from clients.reference.network.request_tracker import NoAnswerError, RequestTracker
from clients.reference.network.throttling import client_throttle_ms
from clients.reference.ports import (
    ChannelState,
    Disconnection,
    Jitter,
    Node,
    Polled,
    Selector,
)
from clients.reference.states import ConnectionState
from clients.reference.telemetry.trace import ApiVersionsReceived, CallbackFailed, ConnectionEnded, Trace
from harness.wire.apis import Api, api_name
from harness.wire.messages import client_versions
from harness.wire.primitives import Data
from harness.wire.versions import UnsupportedVersion


class NetworkClient:
    """Sends requests to nodes by id. Nodes are known from ``metadata``, and from ``add_node``."""

    # The components of a client. A variant of the client replaces one.
    api_versions: type[ApiVersions] = ApiVersions
    completions: type[Completions] = Completions
    connection_states: type[ClusterConnectionStates] = ClusterConnectionStates
    exchanges: type[RequestTracker] = RequestTracker
    idle_connections: type[IdleConnections] = IdleConnections
    in_flight_requests: type[InFlightRequests] = InFlightRequests

    def __init__(
        self, config: ClientConfig, selector: Selector, metadata: Metadata, jitter: Jitter, trace: Trace
    ) -> None:
        self._config = config
        self._selector = selector
        self._metadata = metadata
        self._jitter = jitter
        self._trace = trace
        self._states = self.connection_states(config, selector.resolve, jitter, trace)
        self._in_flight = self.in_flight_requests(config.max_in_flight_requests_per_connection)
        self._idle = self.idle_connections(config.connections_max_idle_ms)
        self._attempts = ConnectionAttempts(self._states, selector, self._idle, self._host_is_unknown)
        self._api_versions = self.api_versions()
        self._added_nodes: dict[int, Node] = {}
        self._exchanges = self.exchanges(config, selector, self._in_flight, trace)
        self._aborted = self.completions(trace)
        self._completions = self.completions(trace)
        # No timeout can have expired before this time, so a round need not check. 0 if it is unknown.
        self._too_late_ms: int | None = 0
        if config.client_dns_lookup == "resolve_canonical_bootstrap_servers_only":
            metadata.bootstrap(every_address(config.bootstrap, selector.resolve))

    # Queries and sending

    def add_node(self, node: Node) -> None:
        """Add a node that metadata does not know, such as a second connection to a broker (NET-CON-16)."""
        self._added_nodes[node.id] = node

    def node(self, node_id: int) -> Node | None:
        """Return the node from ``add_node``, or else from metadata. None if neither has it."""
        return self._added_nodes.get(node_id) or self._metadata.nodes.get(node_id)

    def ready(self, node_id: int, now_ms: int) -> bool:
        """Return whether the node is ready for a request. If not, start to connect if that is allowed."""
        if self.is_ready(node_id, now_ms):
            return True
        node = self.node(node_id)
        if node and self._states.can_connect(node, now_ms):
            self._connect(node, now_ms)
        return False

    def is_ready(self, node_id: int, now_ms: int) -> bool:
        """Return whether a caller may send now. A Metadata request that is due takes precedence."""
        return not self._metadata.is_update_due(now_ms) and self.can_send_request(node_id, now_ms)

    def can_send_request(self, node_id: int, now_ms: int) -> bool:
        """Return whether the node is READY, not throttled, and has room for a request (NET-CON-12, NET-INF-03)."""
        return self._states.is_ready(node_id, now_ms) and self._in_flight.can_send_more(node_id)

    def has_ready_node(self) -> bool:
        """Return whether any node of metadata is READY, even if it is busy or throttled."""
        return any(self._states.state(node_id) is ConnectionState.READY for node_id in self._metadata.nodes)

    def connection_failed(self, node_id: int) -> bool:
        """Return whether a connection or an attempt existed and has ended (connectionFailed in Java)."""
        return node_id in self._states.known() and self._states.is_disconnected(node_id)

    def connection_state(self, node_id: int) -> ConnectionState:
        """Return the state of the node's connection. DISCONNECTED if it was never tried."""
        return self._states.state(node_id)

    def in_flight_count(self, node_id: int) -> int:
        """Return how many requests to the node have no response yet."""
        return self._in_flight.count(node_id)

    def has_in_flight(self) -> bool:
        """Return whether any request to any node has no response yet."""
        return self._in_flight.has_any()

    def supports(self, node_id: int, api: Api, lowest: int) -> bool | None:
        """Return whether the node offers ``lowest`` or a later version. None if it has not told its versions."""
        return self._api_versions.offers(node_id, api, lowest)

    def finalized_feature(self, name: str) -> tuple[int, int]:
        """Return the epoch of the cluster's newest features that a broker told, and the level of one (KIP-584)."""
        return self._api_versions.finalized_feature(name)

    def authentication_error(self, node_id: int) -> AuthenticationError | None:
        """Return why the node refused the credentials. Requests that need this node fail with it (NET-CON-11)."""
        return self._states.authentication_error(node_id)

    def usable_at_ms(self, node_id: int, now_ms: int) -> int | None:
        """Return when the node's backoff or throttling ends, or None if only a network event can change its state."""
        return self._states.usable_at_ms(node_id, now_ms)

    def next_usable_ms(self, now_ms: int) -> int | None:
        """Return the earliest ``usable_at_ms`` of all nodes in metadata."""
        times = [self._states.usable_at_ms(node_id, now_ms) for node_id in self._metadata.nodes]
        return min((time for time in times if time is not None), default=None)

    def send(self, request: ClientRequest, now_ms: int) -> bool:
        """Write a request to a ready node. Return False if broker and client have no version in common.

        Sending to a node that is not ready raises IllegalStateError: it is a defect of the caller (NET-INF-04). In
        either other case the request completes in a later round.
        """
        if not self.can_send_request(request.node_id, now_ms):
            raise IllegalStateError(
                "node-not-ready",
                "node {node_id} is not ready for {api}",
                node_id=request.node_id,
                api=api_name(request.api),
            )
        try:
            version = self._api_versions.version_for(request)
        except UnsupportedVersion as mismatch:
            self._aborted.add(request, ClientResponse(None, version_mismatch=str(mismatch)))
            return False
        self._write(request, version, now_ms)
        return True

    def _write(self, request: ClientRequest, version: int, now_ms: int) -> None:
        self._too_late_ms = 0
        if self._exchanges.write(request, version, now_ms):
            self._idle.used(request.node_id, now_ms)
            self._handle_completed_send(request.node_id)

    def least_loaded_node(self, now_ms: int) -> int | None:
        """Return the best node for a request that any broker can answer. None if no node is usable (NET-CON-13)."""
        nodes = starting_anywhere(list(self._metadata.nodes.values()), self._jitter)
        return least_loaded(nodes, self._states, self._in_flight, now_ms)

    # The round

    def poll(self, now_ms: int) -> None:
        """Run one round: process network events, then expired timeouts, then the completion callbacks."""
        if self._aborted.queue:
            self._aborted.run(now_ms)
        polled = self._selector.poll()
        if polled.connected or polled.completed_sends or polled.received:
            self._note_use(polled, now_ms)
        for node_id in polled.completed_sends:
            self._handle_completed_send(node_id)
        for node_id, payload in polled.received:
            self._handle_received(node_id, payload, now_ms)
        for node_id, disconnection in polled.disconnected.items():
            self._handle_disconnection(node_id, disconnection, now_ms)
        if self._states.lookups:
            self._attempts.proceed(now_ms)
            self._too_late_ms = 0
        may_be_late = self._too_late_ms is not None and self._too_late_ms <= now_ms
        if may_be_late:
            self._handle_idle_connection(now_ms)
        for node_id in polled.connected:
            self._handle_connected(node_id, now_ms)
        if may_be_late:
            self._handle_slow_set_ups(now_ms)
            self._handle_slow_requests(now_ms)
            self._handle_rebootstrap(now_ms)
        if self._completions.queue:
            self._completions.run(now_ms)

    def next_deadline_ms(self) -> int | None:
        """Return when the first timeout expires, or 0 if a completion is waiting."""
        self._too_late_ms = earliest(
            self._in_flight.next_expiry_ms(),
            self._idle.next_expiry_ms(self._is_busy),
            self._metadata.rebootstrap_at_ms(),
            *[expires_ms for _, expires_ms in self._states.setup_expiries()],
        )
        return 0 if self._aborted.queue or self._completions.queue else self._too_late_ms

    def disconnect(self, node_id: int, now_ms: int, why: str) -> None:
        """Close a connection. Its requests complete as disconnected in the next round (NET-INF-07)."""
        if self._states.is_disconnected(node_id):
            return
        self._end_connection(node_id, now_ms, LocalEnd.LOCAL_CLOSE.value, why)
        self._cancel_in_flight(node_id, now_ms, self._aborted)

    def close_node(self, node_id: int, now_ms: int) -> None:
        """Close a connection and forget the node. Its requests are dropped without a completion (NET-INF-07).

        The network layer's own requests still complete as disconnected, so that their senders can continue.
        """
        self._selector.close(node_id)
        self._api_versions.forget(node_id)
        self._idle.forget(node_id)
        self._states.forget(node_id, now_ms)
        self._added_nodes.pop(node_id, None)
        for lost in self._in_flight.clear(node_id):
            if lost.request.is_internal:
                self._aborted.add(lost.request, ClientResponse(None, disconnected=True))

    def close(self) -> None:
        """Close every connection. Requests in flight are dropped without a completion."""
        for node_id in self._states.known():
            self._selector.close(node_id)
            self._in_flight.clear(node_id)

    # The parts of a round

    def _note_use(self, polled: Polled, now_ms: int) -> None:
        self._idle.used_by(polled, now_ms)

    def _handle_completed_send(self, node_id: int) -> None:
        newest = self._in_flight.newest(node_id)
        newest.sent = True
        if not newest.request.expects_response:
            self._in_flight.complete_newest(node_id)
            self._completions.add(newest.request, ClientResponse(None))

    def _handle_received(self, node_id: int, payload: Data, now_ms: int) -> None:
        """Process the response to the oldest request. One that does not match ends the connection (NET-INF-01)."""
        try:
            answered, body = self._exchanges.answered(node_id, payload, now_ms)
        except NoAnswerError as error:
            self._refuse(node_id, now_ms, str(error))
            return
        self._maybe_throttle(answered, body, now_ms)
        self._completions.add(answered.request, ClientResponse(body))

    def _maybe_throttle(self, answered: InFlightRequest, body: Message, now_ms: int) -> None:
        """Throttle the node if its response requests it, and extend its other requests' timeouts (NET-TMO-04)."""
        throttle_ms = client_throttle_ms(answered.request.api, answered.api_version, body)
        if throttle_ms:
            self._in_flight.throttled(answered.node_id, throttle_ms)
            self._states.throttle(answered.node_id, throttle_ms, now_ms)

    def _refuse(self, node_id: int, now_ms: int, what: str) -> None:
        self._trace(CallbackFailed(at_ms=now_ms, who=f"node {node_id}", what=what))
        self._drop(node_id, now_ms, LocalEnd.LOCAL_CLOSE, what)

    def _handle_disconnection(self, node_id: int, disconnection: Disconnection, now_ms: int) -> None:
        """Process a lost connection. The effect depends on its state (processDisconnection in Java)."""
        why = explained(disconnection)
        failed = disconnection.state is ChannelState.AUTHENTICATION_FAILED
        error = (
            AuthenticationError("authentication-failed", "node {node_id} {why}", node_id=node_id, why=why)
            if failed
            else None
        )
        self._lost(node_id, now_ms, disconnection.state.value, why, authentication_error=error)

    def _handle_idle_connection(self, now_ms: int) -> None:
        node_id = self._idle.expired(now_ms, self._is_busy)
        if node_id is not None:
            self._drop(
                node_id, now_ms, LocalEnd.EXPIRED, "nothing happened on it for connections.max.idle.ms"
            )

    def _is_busy(self, node_id: int) -> bool:
        return self._in_flight.count(node_id) > 0

    def _handle_connected(self, node_id: int, now_ms: int) -> None:
        self._states.checking_api_versions(node_id, now_ms)
        self._ask_api_versions(node_id, client_versions(Api.API_VERSIONS)[1], now_ms)

    def _ask_api_versions(self, node_id: int, version: int, now_ms: int) -> None:
        """Send the first request of a connection, the only one that is written before READY (NET-CON-01)."""

        def answered(response: ClientResponse, at_ms: int) -> None:
            if response.body is not None:
                self._handle_api_versions(node_id, version, response.body, at_ms)

        request = api_versions_question(node_id, answered, self._config.request_timeout_ms)
        self._write(request, version, now_ms)

    def _handle_api_versions(self, node_id: int, asked: int, body: Message, now_ms: int) -> None:
        """Make the node READY, ask again at a lower version, or end the connection (NET-CON-02, -03)."""
        if self._states.state(node_id) is not ConnectionState.CHECKING_API_VERSIONS:
            return
        lower = version_to_ask_instead(asked, body)
        refused = refusal(body)
        if lower is not None:
            self._states.lower_api_versions(node_id, now_ms)
            self._ask_api_versions(node_id, lower, now_ms)
        elif refused:
            self._refuse(node_id, now_ms, refused)
        else:
            offered = offered_by(body)
            self._trace(ApiVersionsReceived(at_ms=now_ms, node=node_id, offered=dict(offered)))
            self._api_versions.learn(node_id, offered)
            self._api_versions.learn_features(body)
            self._states.ready(node_id, now_ms)

    def _handle_slow_set_ups(self, now_ms: int) -> None:
        for node_id, expires_ms in list(self._states.setup_expiries()):
            if expires_ms <= now_ms:
                why = "the connection took too long to be made"
                self._drop(node_id, now_ms, LocalEnd.SETUP_TIMEOUT, why)

    def _handle_slow_requests(self, now_ms: int) -> None:
        """Close each connection with an expired request. All its requests in flight are lost (NET-TMO-01, -02)."""
        for node_id in self._in_flight.nodes_with_expired_requests(now_ms):
            self._drop(node_id, now_ms, LocalEnd.REQUEST_TIMEOUT, "a request was not answered in time")

    def _handle_rebootstrap(self, now_ms: int) -> None:
        """Close all connections and start again from the bootstrap servers, if that is due (NET-CON-15)."""
        due_ms = self._metadata.rebootstrap_at_ms()
        if due_ms is None or due_ms > now_ms:
            return
        reason = self._metadata.rebootstrap_reason()
        for node_id in self._states.known():
            if not self._states.is_disconnected(node_id):
                self._drop(node_id, now_ms, LocalEnd.REBOOTSTRAP, reason)
        self._metadata.rebootstrap(now_ms, reason)

    # The ends of connections and requests

    def _drop(self, node_id: int, now_ms: int, end: LocalEnd, why: str) -> None:
        self._selector.close(node_id)
        timed_out = end is LocalEnd.REQUEST_TIMEOUT
        self._lost(node_id, now_ms, end.value, why, timed_out=timed_out)

    def _lost(
        self,
        node_id: int,
        now_ms: int,
        state: str,
        why: str,
        *,
        timed_out: bool = False,
        authentication_error: AuthenticationError | None = None,
    ) -> None:
        """Process the end of a connection during a round. Request metadata, since the cluster may have changed."""
        self._end_connection(node_id, now_ms, state, why)
        if authentication_error:
            self._states.authentication_failed(node_id, authentication_error, now_ms)
            self._metadata.fail(authentication_error)
        self._cancel_in_flight(node_id, now_ms, self._completions, timed_out=timed_out)
        if self._metadata.is_update_due(now_ms):
            self._metadata.failed(now_ms, f"node {node_id}: {why}")
        self._metadata.request_update()

    def _end_connection(self, node_id: int, now_ms: int, state: str, why: str) -> None:
        self._selector.close(node_id)
        self._trace(ConnectionEnded(at_ms=now_ms, node=node_id, state=state, detail=why))
        self._states.disconnected(node_id, now_ms, why)
        self._api_versions.forget(node_id)
        self._idle.forget(node_id)

    def _cancel_in_flight(
        self, node_id: int, now_ms: int, completions: Completions, *, timed_out: bool = False
    ) -> None:
        """Complete each request of the node as disconnected, oldest first (NET-INF-06)."""
        for request in self._exchanges.lost(node_id, now_ms, timed_out=timed_out):
            completions.add(request, ClientResponse(None, disconnected=True, timed_out=timed_out))

    def _connect(self, node: Node, now_ms: int) -> None:
        self._too_late_ms = 0
        self._attempts.start(node, now_ms)

    def _host_is_unknown(self, node_id: int, now_ms: int) -> None:
        detail = f"the host {self._states.host(node_id)} is unknown"
        unknown = Disconnection(ChannelState.NOT_CONNECTED, detail)
        self._handle_disconnection(node_id, unknown, now_ms)
