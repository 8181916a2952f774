"""NetworkClient: requests to nodes, over connections that come and go.

One ``poll`` is one round over what the selector reports, always in the same order: finished writes, responses, lost
connections, new connections, set-ups and requests that took too long; the completion callbacks come last. A request
that was accepted completes exactly once: with a body, as disconnected, or as unsupported by the broker. What arrives
after the client gave up is never applied, because giving up closes the connection (NET-TMO-05).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from clients.reference.config import ProducerConfig
from clients.reference.connection_states import ClusterConnectionStates
from clients.reference.errors import IllegalStateError
from clients.reference.in_flight_requests import InFlightRequest, InFlightRequests
from clients.reference.metadata import Metadata
from clients.reference.ports import INT32_MAX, Jitter, Node, Selector
from clients.reference.requests import ClientRequest, ClientResponse, Message, api_versions_request
from clients.reference.states import ConnectionState
from clients.reference.trace import Misbehaved, RequestLost, RequestSent, ResponseReceived, Trace
from harness.wire.apis import Api, api_name
from harness.wire.error_table import BY_NAME
from harness.wire.headers import read_response_header
from harness.wire.messages import WireError, client_versions, decode_response, encode_request
from harness.wire.versions import UnsupportedVersion, negotiate

RESERVED_CORRELATION_IDS = range(INT32_MAX - 7, INT32_MAX + 1)  # Java's SASL handshakes use them (NET-INF-02)
ApiVersions = Mapping[int, tuple[int, int]]
_UNSUPPORTED_VERSION = BY_NAME["UNSUPPORTED_VERSION"].code


class NetworkClient:
    """Sends requests to nodes by id; ``metadata`` says where the nodes are."""

    def __init__(
        self, config: ProducerConfig, selector: Selector, metadata: Metadata, jitter: Jitter, trace: Trace
    ) -> None:
        self._config = config
        self._selector = selector
        self._metadata = metadata
        self._trace = trace
        self._states = ClusterConnectionStates(config, jitter, trace)
        self._in_flight = InFlightRequests(config.max_in_flight_requests_per_connection)
        self._api_versions: dict[int, ApiVersions] = {}
        self._next_correlation_id = 0
        self._completions: deque[tuple[ClientRequest, ClientResponse]] = deque()

    # asking and sending

    def ready(self, node_id: int, now_ms: int) -> bool:
        """Is the node ready for a request? If not, begin to connect where that is allowed."""
        if self.is_ready(node_id):
            return True
        node = self._metadata.nodes.get(node_id)
        if node and self._states.can_connect(node, now_ms):
            self._connect(node, now_ms)
        return False

    def is_ready(self, node_id: int) -> bool:
        return self._states.is_ready(node_id) and self._in_flight.can_send_more(node_id)

    def connect_at_ms(self, node_id: int) -> int | None:
        """When an attempt to connect is allowed; None where waiting for the network is all there is to do."""
        return self._states.connect_at_ms(node_id)

    def send(self, request: ClientRequest, now_ms: int) -> bool:
        """Write a request to a ready node; False where broker and client have no version in common.

        A node that is not ready is a defect of the caller (NET-INF-04). In either case the request completes
        in a later round.
        """
        if not self.is_ready(request.node_id):
            raise IllegalStateError(f"node {request.node_id} is not ready for {api_name(request.api)}")
        try:
            version = self._version_for(request)
        except UnsupportedVersion as mismatch:
            self._complete(request, ClientResponse(None, version_mismatch=str(mismatch)))
            return False
        self._write(request, version, now_ms)
        return True

    def least_loaded_node(self, now_ms: int) -> int | None:
        """The best node for a request that any broker can answer (NET-CON-13)."""
        ready = [node_id for node_id in self._metadata.nodes if self.is_ready(node_id)]
        if ready:
            return min(ready, key=self._in_flight.count)
        nodes = self._metadata.nodes.values()
        for node in nodes:
            if self._states.state(node.id) not in (ConnectionState.DISCONNECTED, ConnectionState.READY):
                return node.id
        connectable = [node.id for node in nodes if self._states.can_connect(node, now_ms)]
        return min(connectable, key=self._states.last_attempt_ms, default=None)

    def next_connect_ms(self) -> int | None:
        """When the first of the disconnected nodes may be tried again; None where all are (being) connected."""
        times = map(self._states.connect_at_ms, self._metadata.nodes)
        return min((time for time in times if time is not None), default=None)

    # the round

    def poll(self, now_ms: int) -> None:
        """One round over what happened on the network and what took too long."""
        polled = self._selector.poll()
        for node_id in polled.completed_sends:
            self._handle_completed_send(node_id)
        for node_id, payload in polled.received:
            self._handle_received(node_id, payload, now_ms)
        for node_id, why in polled.disconnected.items():
            self._lost(node_id, now_ms, why)
        for node_id in polled.connected:
            self._handle_connected(node_id, now_ms)
        self._handle_slow_set_ups(now_ms)
        self._handle_slow_requests(now_ms)
        self._run_completions(now_ms)

    def next_deadline_ms(self) -> int | None:
        """When the first set-up or request will have taken too long; at once if a completion waits to be told."""
        if self._completions:
            return 0
        deadlines = [expires_ms for _, expires_ms in self._states.setup_expiries()]
        expiry_ms = self._in_flight.next_expiry_ms()
        return min(deadlines if expiry_ms is None else [*deadlines, expiry_ms], default=None)

    def disconnect(self, node_id: int, now_ms: int, why: str) -> None:
        """Close a connection; its requests complete as disconnected (NET-INF-07)."""
        self._selector.close(node_id)
        self._lost(node_id, now_ms, why)

    def close(self) -> None:
        """Close every connection; what is in flight is dropped without an answer."""
        for node_id in self._states.known():
            self._selector.close(node_id)
            self._in_flight.clear(node_id)

    # what a round is made of

    def _handle_completed_send(self, node_id: int) -> None:
        newest = self._in_flight.newest(node_id)
        newest.sent = True
        if not newest.request.expects_response:
            self._in_flight.complete_newest(node_id)
            self._complete(newest.request, ClientResponse(None))

    def _handle_received(self, node_id: int, payload: bytes, now_ms: int) -> None:
        """Match a response to the oldest request; one that does not fit ends the connection (NET-INF-01)."""
        oldest = self._in_flight.oldest(node_id)
        if oldest is None:
            self._refuse(node_id, now_ms, "a response that nothing was asked for")
            return
        api = oldest.request.api
        try:
            correlation_id, _ = read_response_header(payload, api, oldest.api_version)
            if correlation_id != oldest.correlation_id:
                self._refuse(
                    node_id, now_ms, f"correlation id {correlation_id} where {oldest.correlation_id} was due"
                )
                return
            body = decode_response(payload, api, oldest.api_version)[1]
        except WireError as error:
            self._refuse(node_id, now_ms, f"unreadable {api_name(api)} response: {error}")
            return
        self._in_flight.complete_oldest(node_id)
        self._trace(
            ResponseReceived(
                at_ms=now_ms,
                node=node_id,
                api=api_name(api),
                correlation_id=correlation_id,
                latency_ms=now_ms - oldest.sent_ms,
            )
        )
        self._complete(oldest.request, ClientResponse(body))

    def _refuse(self, node_id: int, now_ms: int, what: str) -> None:
        self._trace(Misbehaved(at_ms=now_ms, who=f"node {node_id}", what=what))
        self.disconnect(node_id, now_ms, what)

    def _handle_connected(self, node_id: int, now_ms: int) -> None:
        self._states.checking_api_versions(node_id, now_ms)
        self._ask_api_versions(node_id, client_versions(Api.API_VERSIONS)[1], now_ms)

    def _ask_api_versions(self, node_id: int, version: int, now_ms: int) -> None:
        """The first request of a connection; it alone is written before the node is ready (NET-CON-01)."""

        def answered(response: ClientResponse, at_ms: int) -> None:
            if response.body is not None:
                self._handle_api_versions(node_id, version, response.body, at_ms)

        request = ClientRequest(
            node_id,
            Api.API_VERSIONS,
            api_versions_request,
            answered,
            timeout_ms=self._config.request_timeout_ms,
        )
        self._write(request, version, now_ms)

    def _handle_api_versions(self, node_id: int, asked: int, body: Message, now_ms: int) -> None:
        """READY, or once more at a lower version, or the end of the connection (NET-CON-02, -03)."""
        if self._states.state(node_id) is not ConnectionState.CHECKING_API_VERSIONS:
            return
        offered = {int(api.api_key): (int(api.min_version), int(api.max_version)) for api in body.api_keys}
        error = int(body.error_code)
        if error == _UNSUPPORTED_VERSION and asked > 0:
            lower = min(offered.get(Api.API_VERSIONS, (0, 0))[1], asked - 1)
            self._states.lower_api_versions(node_id, now_ms)
            self._ask_api_versions(node_id, lower, now_ms)
        elif error:
            self._refuse(node_id, now_ms, f"ApiVersions answered with error {error}")
        else:
            self._api_versions[node_id] = offered
            self._states.ready(node_id, now_ms)

    def _handle_slow_set_ups(self, now_ms: int) -> None:
        for node_id, expires_ms in list(self._states.setup_expiries()):
            if expires_ms <= now_ms:
                self.disconnect(node_id, now_ms, "the connection took too long to be made")

    def _handle_slow_requests(self, now_ms: int) -> None:
        """One slow request ends the whole connection, with all that is in flight on it (NET-TMO-01, -02)."""
        for node_id in self._in_flight.nodes_with_expired_requests(now_ms):
            self._selector.close(node_id)
            self._lost(node_id, now_ms, "a request was not answered in time", timed_out=True)

    def _lost(self, node_id: int, now_ms: int, why: str, *, timed_out: bool = False) -> None:
        self._states.disconnected(node_id, now_ms, why)
        self._api_versions.pop(node_id, None)
        self._metadata.request_update()
        for lost in self._in_flight.clear(node_id):
            self._trace(
                RequestLost(
                    at_ms=now_ms,
                    node=node_id,
                    api=api_name(lost.request.api),
                    correlation_id=lost.correlation_id,
                    timed_out=timed_out,
                )
            )
            self._complete(lost.request, ClientResponse(None, disconnected=True, timed_out=timed_out))

    def _complete(self, request: ClientRequest, response: ClientResponse) -> None:
        self._completions.append((request, response))

    def _connect(self, node: Node, now_ms: int) -> None:
        self._states.connecting(node, now_ms)
        self._selector.connect(node)

    def _version_for(self, request: ClientRequest) -> int:
        offered = self._api_versions[request.node_id]
        return negotiate(request.api, offered, request.lowest, request.highest)

    def _write(self, request: ClientRequest, version: int, now_ms: int) -> None:
        correlation_id = self._take_correlation_id()
        data = encode_request(request.build(version), correlation_id, self._config.client_id)
        self._in_flight.add(InFlightRequest(request.node_id, request, version, correlation_id, now_ms))
        self._trace(
            RequestSent(
                at_ms=now_ms,
                node=request.node_id,
                api=api_name(request.api),
                version=version,
                correlation_id=correlation_id,
                size_bytes=len(data),
            )
        )
        self._selector.send(request.node_id, data)

    def _take_correlation_id(self) -> int:
        """One counter a client, over all connections; int32, wrapping, without the reserved ids (NET-INF-02)."""
        taken = self._next_correlation_id
        following = taken + 1
        if following in RESERVED_CORRELATION_IDS:
            following = -INT32_MAX - 1
        self._next_correlation_id = following
        return taken

    def _run_completions(self, now_ms: int) -> None:
        """Tell the callers; one that raises is told of and stops nobody else (NET-INF-08)."""
        while self._completions:
            request, response = self._completions.popleft()
            try:
                request.on_complete(response, now_ms)
            except Exception as error:
                who = f"completion of {api_name(request.api)}"
                self._trace(Misbehaved(at_ms=now_ms, who=who, what=f"{type(error).__name__}: {error}"))
