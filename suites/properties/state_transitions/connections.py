"""Connections: the path of every node through its states, when it may be tried again, and when it is not used."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from clients.reference.ports import ChannelState
from clients.reference.producer.producer import Components
from clients.reference.telemetry.trace import TraceEvent
from harness.wire.apis import Api
from suites.checks.trace.in_flight import InFlight
from suites.checks.trace.transition import Transitions
from suites.properties.property import stateful_property
from suites.properties.state_transitions import wire
from suites.properties.walks.connections import WALKS

NODES = (1, 2)
PORTS = (9092, 9093)
REQUEST_TIMEOUT_MS = 3_000
LONG_MS = 10_000
DISCONNECTED, CONNECTING, CHECKING, READY = "DISCONNECTED", "CONNECTING", "CHECKING", "READY"
REFUSALS = (ChannelState.NOT_CONNECTED, ChannelState.READY)
UNSUPPORTED_VERSION = 35
WHICH = st.integers(0, 1)


@dataclass(slots=True)
class Expected:
    """The expected state of a node. ``failures`` and ``slow`` count in a row; ``since_ms`` is the last change."""

    state: str = DISCONNECTED
    failures: int = 0
    slow: int = 0
    since_ms: int = 0
    ended_ms: int = 0
    throttled_until_ms: int = 0
    port: int = PORTS[0]
    tried_port: int = PORTS[0]
    asked: int = 0


def between(base_ms: int, max_ms: int, earlier: int) -> tuple[int, int]:
    """Return the shortest and the longest delay after this many failures. It doubles each time, 20 % either way."""
    if max_ms <= base_ms:
        return max_ms, max_ms
    plain_ms = min(base_ms * 2**earlier, max_ms)
    return int(plain_ms * 0.8), min(int(plain_ms * 1.2) + 1, max_ms)


@stateful_property(
    "NET-CON-01",
    "NET-CON-02",
    "NET-CON-03",
    "NET-CON-05",
    "NET-CON-06",
    "NET-CON-07",
    "NET-CON-08",
    "NET-CON-10",
    "NET-CON-12",
    walks=WALKS,
)
class ConnectionsWalkTheirStates(RuleBasedStateMachine):
    """Every node follows the network through its states, waits after failures, and pauses when it is throttled."""

    components = Components()

    @initialize(
        backoff_ms=st.integers(0, 200),
        backoff_max_ms=st.integers(0, 1_000),
        setup_ms=st.integers(50, 500),
        setup_max_ms=st.integers(50, 2_000),
        jitter=st.floats(-1, 1),
    )
    def begin(
        self, backoff_ms: int, backoff_max_ms: int, setup_ms: int, setup_max_ms: int, jitter: float
    ) -> None:
        self.config = wire.config(
            reconnect_backoff_ms=backoff_ms,
            reconnect_backoff_max_ms=backoff_max_ms,
            socket_connection_setup_timeout_ms=setup_ms,
            socket_connection_setup_timeout_max_ms=setup_max_ms,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
            connections_max_idle_ms=-1,
            metadata_max_age_ms=10**12,
            metadata_recovery_strategy="none",
        )
        self.now_ms = 1_000
        self.events: list[TraceEvent] = []
        self.wire = wire.Wire()
        self.nodes = {node_id: Expected() for node_id in NODES}
        dice = lambda: jitter  # noqa: E731 - the same throw each time, drawn once
        self.metadata = self.components.metadata(self.config, dice, self.events.append)
        self._know_nodes()
        self.client = self.components.network_client(
            self.config, self.wire, self.metadata, dice, self.events.append
        )

    def _know_nodes(self) -> None:
        """Answer with metadata: no request is due, and the nodes are where the model has them."""
        question = self.metadata.next_question(self.now_ms)
        nodes = {node_id: (f"node{node_id}", node.port) for node_id, node in self.nodes.items()}
        self.metadata.update(question, wire.metadata(wire.metadata_versions()[1], nodes, {}), self.now_ms)

    def _calm(self) -> None:
        """Answer the metadata request that a lost connection caused, since it precedes everything else."""
        if self.metadata.is_asking or self.metadata.next_update_ms() < 10**11:
            self._know_nodes()

    def _poll(self) -> None:
        self.client.poll(self.now_ms)
        self._calm()

    # actions of the application

    @rule(node_id=st.sampled_from(NODES))
    def want(self, node_id: int) -> None:
        """ready() is true exactly if the node is ready, and a new attempt begins only when it may."""
        node, before = self.nodes[node_id], len(self.wire.connects)
        ready = self.client.ready(node_id, self.now_ms)
        assert ready is (node.state is READY and self.now_ms >= node.throttled_until_ms), (node, self.now_ms)
        tried = self.wire.connects[before:]
        least, most = self._backoff(node)
        waited_ms = self.now_ms - node.ended_ms
        if tried:
            assert node.state is DISCONNECTED, f"a new connection in {node.state}"
            assert tried == [(node_id, (f"node{node_id}", node.port))]
            assert waited_ms >= least, f"again after {waited_ms} ms, failure {node.failures}"
            if node.port != node.tried_port:
                node.failures = node.slow = node.throttled_until_ms = 0
            node.state, node.since_ms, node.tried_port = CONNECTING, self.now_ms, node.port
        else:
            assert node.state is not DISCONNECTED or waited_ms < most, f"not even after {waited_ms} ms"

    def _backoff(self, node: Expected) -> tuple[int, int]:
        """No wait is due without a failure, or for a new address."""
        is_new = not node.failures or node.port != node.tried_port
        return (0, 0) if is_new else self._backoff_ms(node)

    def _backoff_ms(self, node: Expected) -> tuple[int, int]:
        return between(
            self.config.reconnect_backoff_ms, self.config.reconnect_backoff_max_ms, node.failures - 1
        )

    @rule(node_id=st.sampled_from(NODES), port=st.sampled_from(PORTS))
    def move_broker(self, node_id: int, port: int) -> None:
        """Metadata announces a new address. The failures of the old one do not count there."""
        node = self.nodes[node_id]
        if node.state is DISCONNECTED:
            node.port = port
            self._know_nodes()

    # events of the network

    def _in(self, *states: str) -> list[int]:
        return [node_id for node_id in NODES if self.nodes[node_id].state in states]

    def _one(self, *states: str, which: int) -> int:
        found = self._in(*states)
        return found[which % len(found)]

    @precondition(lambda self: self._in(CONNECTING))
    @rule(which=WHICH)
    def connected(self, which: int) -> None:
        """TCP is connected: the client requests the API versions, and nothing else."""
        node_id = self._one(CONNECTING, which=which)
        node, before = self.nodes[node_id], len(self.wire.frames)
        self.wire.connected(node_id)
        self._poll()
        assert [frame.api for frame in self.wire.frames[before:]] == [Api.API_VERSIONS]
        node.state, node.since_ms, node.slow = CHECKING, self.now_ms, 0
        node.asked = self.wire.frames[-1].version
        assert not self.client.is_ready(node_id, self.now_ms)

    @precondition(lambda self: self._in(CHECKING))
    @rule(which=WHICH, throttle_ms=st.sampled_from([0, 0, 1, 300]))
    def versions(self, which: int, throttle_ms: int) -> None:
        """The broker answers with its versions: the node is ready, and its failures are forgotten."""
        node_id = self._one(CHECKING, which=which)
        node = self.nodes[node_id]
        message = wire.api_versions(node.asked, throttle_ms=throttle_ms)
        self._answer(node_id, message)
        node.state, node.failures = READY, 0
        if node.asked >= 2:
            node.throttled_until_ms = max(node.throttled_until_ms, self.now_ms + throttle_ms)

    @precondition(lambda self: self._in(CHECKING))
    @rule(which=WHICH, error_code=st.sampled_from([-1, UNSUPPORTED_VERSION, 58]))
    def versions_refused(self, which: int, error_code: int) -> None:
        """UNSUPPORTED_VERSION: once more, lower, on the same connection. Any other error ends it."""
        node_id = self._one(CHECKING, which=which)
        node = self.nodes[node_id]
        repeats = error_code == UNSUPPORTED_VERSION and node.asked > 0
        answered_in = 0 if repeats else node.asked
        message = wire.api_versions(answered_in, error_code=error_code)
        before = len(self.wire.frames)
        self._answer(node_id, message)
        asked = [(frame.api, frame.version) for frame in self.wire.frames[before:]]
        if repeats:
            assert len(asked) == 1 and asked[0][0] is Api.API_VERSIONS and asked[0][1] < max(node.asked, 5)
            node.asked = asked[0][1]
        else:
            assert not asked and node_id not in self.wire.open
            self._ended(node)

    def _answer(self, node_id: int, message: object) -> None:
        self.wire.received(node_id, self.wire.requests[node_id][0].answer(message))
        self._poll()

    @precondition(lambda self: self._in(CONNECTING, CHECKING, READY))
    @rule(which=WHICH, how=st.sampled_from(REFUSALS))
    def lost(self, which: int, how: ChannelState) -> None:
        """The connection is refused, or lost."""
        node_id = self._one(CONNECTING, CHECKING, READY, which=which)
        node = self.nodes[node_id]
        self.wire.ended(node_id, how)
        self._poll()
        self._ended(node)

    @rule(node_id=st.sampled_from(NODES))
    def give_up(self, node_id: int) -> None:
        """disconnect() ends a connection and counts as a failure. It has no effect on one that has ended."""
        node = self.nodes[node_id]
        self.client.disconnect(node_id, self.now_ms, "requested by the property")
        self._poll()
        if node.state is not DISCONNECTED:
            self._ended(node)

    def _ended(self, node: Expected) -> None:
        node.slow = node.slow + 1 if node.state is CONNECTING else 0
        node.failures += 1
        node.state, node.ended_ms = DISCONNECTED, self.now_ms
        node_id = next(each for each, known in self.nodes.items() if known is node)
        waits_ms = (self.client.usable_at_ms(node_id, self.now_ms) or 0) - self.now_ms
        least, most = self._backoff_ms(node)
        assert least <= waits_ms <= most, f"waits {waits_ms} ms after failure {node.failures}"

    # passing of time

    @rule(passed_ms=st.integers(0, 30) | st.integers(0, 1_200) | st.just(LONG_MS))
    def wait(self, passed_ms: int) -> None:
        """A setup that takes too long ends, never early. So does a request for versions."""
        self.now_ms += passed_ms
        self._poll()
        for node_id in self._in(CONNECTING, CHECKING):
            node = self.nodes[node_id]
            if node.state is CONNECTING:
                least, most = between(
                    self.config.socket_connection_setup_timeout_ms,
                    self.config.socket_connection_setup_timeout_max_ms,
                    node.slow,
                )
            else:
                least = most = REQUEST_TIMEOUT_MS
            waited_ms = self.now_ms - node.since_ms
            if node_id in self.wire.open:
                assert waited_ms <= most, f"{node.state} for {waited_ms} ms, at most {most}"
            else:
                assert waited_ms > least, f"{node.state} for {waited_ms} ms, at least {least}"
                self._ended(node)

    # invariants

    @invariant()
    def open_sockets_are_those_of_nodes_in_use(self) -> None:
        assert set(self.wire.open) == set(self._in(CONNECTING, CHECKING, READY))

    @invariant()
    def a_node_is_ready_exactly_where_it_should_be(self) -> None:
        for node_id, node in self.nodes.items():
            expected = node.state is READY and self.now_ms >= node.throttled_until_ms
            assert self.client.is_ready(node_id, self.now_ms) is expected

    @invariant()
    def the_least_loaded_node_can_be_used(self) -> None:
        """The chosen node is never throttled or in its backoff, and a ready node is preferred (NET-CON-13)."""
        chosen = self.client.least_loaded_node(self.now_ms)
        free = [n for n in self._in(READY) if self.now_ms >= self.nodes[n].throttled_until_ms]
        if free:
            assert chosen in free
        elif chosen is not None:
            node = self.nodes[chosen]
            assert node.state is not READY
            assert node.state is not DISCONNECTED or self.now_ms - node.ended_ms >= self._backoff(node)[0]

    def teardown(self) -> None:
        if hasattr(self, "events"):
            limits = self.config.reconnect_backoff_ms, self.config.reconnect_backoff_max_ms
            watch = InFlight(5, answers_produce=True, backoff_ms=limits[0], backoff_max_ms=limits[1])
            assert not watch.watch(self.events), watch.breaches[0]
            assert not (breaches := Transitions().watch(self.events)), breaches[0]
