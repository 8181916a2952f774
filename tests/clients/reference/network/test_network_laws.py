"""NetworkClient alone: under any network events, each request completes once and in order."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.common.requests import ClientRequest, metadata_request
from clients.reference.config.producer_config import ProducerConfig
from clients.reference.metadata.metadata import Metadata
from clients.reference.network.network_client import NetworkClient
from clients.reference.network.node_addresses import coordinator_node
from clients.reference.ports import INT32_MAX, ChannelState, Disconnection, Node, Polled
from clients.reference.states import ConnectionState
from clients.reference.telemetry.trace import ConnectionEnded, RequestLost
from harness.brokers.scripted.cluster import ScriptedCluster
from harness.model.dice import Dice
from harness.wire.apis import Api


class Network:
    """The selector port, controlled by a test: it reports what the test sets, and records what is written."""

    def __init__(self):
        self.polled = Polled()
        self.open = set()
        self.written = defaultdict(list)
        self.closed = []
        self.addresses = {}
        self.brokers = ScriptedCluster("4.3.1", {1: ("b1", 9092)}, Dice(0, "network"))

    def resolve(self, host, port):
        return ((host, port),)

    def connect(self, node_id, address):
        self.open.add(node_id)
        self.addresses[node_id] = address

    def send(self, node_id, data):
        assert node_id in self.open
        self.written[node_id].append(data)

    def poll(self):
        polled, self.polled = self.polled, Polled()
        return polled

    def close(self, node_id):
        if node_id in self.open:
            self.open.discard(node_id)
            self.closed.append(node_id)
            self.written.pop(node_id, None)

    def lose(self, node_id, state=ChannelState.READY):
        self.open.discard(node_id)
        self.written.pop(node_id, None)
        self.polled.disconnected[node_id] = Disconnection(state, "lost")

    def answer(self, node_id):
        """Deliver the response to a node's oldest request."""
        answered = self.brokers.handle(1, node_id, self.written[node_id].pop(0)[4:], 0)
        self.polled.received.append((node_id, answered.frame[4:]))


class Client:
    """A NetworkClient of brokers 1 and 2, and every completion of the requests that ``send`` sent."""

    def __init__(self, **settings):
        named = {name.replace("_", "."): value for name, value in settings.items()}
        config = ProducerConfig.from_mapping({"bootstrap.servers": "b1:1", **named})
        self.events = []
        self.network = Network()
        self.metadata = Metadata(config, lambda: 0.0, self.events.append)
        self.client = NetworkClient(config, self.network, self.metadata, lambda: 0.0, self.events.append)
        self.metadata.nodes = {node_id: Node(node_id, f"b{node_id}", 9092) for node_id in (1, 2)}
        self.metadata.is_asking = True  # nothing here requests metadata, and no request must wait for it
        self.now_ms = 0
        self.sent = []
        self.ends = []

    def poll(self):
        self.client.poll(self.now_ms)

    def become_ready(self, node_id):
        self.client.ready(node_id, self.now_ms)
        if self.client.connection_state(node_id) is ConnectionState.CONNECTING:
            self.network.polled.connected.append(node_id)
            self.poll()
            self.network.polled.completed_sends.append(node_id)
            self.network.answer(node_id)
            self.poll()

    def send(self, node_id, **given):
        number = len(self.sent)
        request = ClientRequest(
            node_id,
            Api.METADATA,
            metadata_request((), allow_auto_topic_creation=False),
            lambda response, now_ms: self.ends.append((number, response)),
            timeout_ms=1_000,
            **given,
        )
        if not self.client.can_send_request(node_id, self.now_ms):
            return False
        self.sent.append(node_id)
        self.client.send(request, self.now_ms)
        return True


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["ready", "send", "unsupported", "written", "answer", "lose", "disconnect", "garbage", "wait"]
        ),
        st.integers(1, 2),
    ),
    max_size=60,
)


@given(STEPS)
def test_every_request_completes_once_and_in_order_per_connection(steps):
    """NET-INF-01, -06, NET-TMO-02: however often connections end, and for any reason."""
    c = Client(reconnect_backoff_ms=0, reconnect_backoff_max_ms=0, max_in_flight_requests_per_connection=3)
    unwritten = {1: False, 2: False}
    for step, node_id in steps:
        waiting = bool(c.network.written.get(node_id)) and c.client.connection_state(node_id).value == "READY"
        if step == "ready":
            c.become_ready(node_id)
        elif step == "send":
            unwritten[node_id] |= c.send(node_id)
        elif step == "unsupported":
            c.send(node_id, lowest=99)
        elif step == "written" and waiting and unwritten[node_id]:
            c.network.polled.completed_sends.append(node_id)
            unwritten[node_id] = False
        elif step == "answer" and waiting and not unwritten[node_id]:
            c.network.answer(node_id)
        elif step == "garbage" and waiting and not unwritten[node_id]:
            c.network.polled.received.append((node_id, b"\x00\x00\x00\x00?"))
        elif step == "lose" and node_id in c.network.open:
            c.network.lose(node_id)
        elif step == "disconnect":
            c.client.disconnect(node_id, c.now_ms, "test")
        elif step == "wait":
            c.now_ms += 700
        c.poll()
        for each in (1, 2):
            unwritten[each] &= each in c.network.open
            in_flight = c.client.in_flight_count(each)
            assert in_flight <= 3
            state = c.client.connection_state(each)
            assert not in_flight or state in (
                ConnectionState.CHECKING_API_VERSIONS,
                ConnectionState.READY,
            )
    for node_id in (1, 2):
        c.client.disconnect(node_id, c.now_ms, "the end")
    c.poll()
    assert sorted(number for number, _ in c.ends) == list(range(len(c.sent)))
    for node_id in (1, 2):
        numbers = [n for n, response in c.ends if c.sent[n] == node_id and not response.version_mismatch]
        assert numbers == sorted(numbers)
    for _, response in c.ends:
        assert [response.body is not None, response.disconnected, bool(response.version_mismatch)].count(
            True
        ) == 1


def test_requests_that_failed_between_polls_are_reported_first():
    """NET-CON-04, NET-INF-07: before any network event, and never within the call."""
    c = Client()
    c.become_ready(1)
    c.send(1)
    c.network.polled.completed_sends.append(1)
    c.poll()
    c.network.answer(1)
    c.send(1, lowest=99)
    assert c.ends == []
    assert c.client.next_deadline_ms() == 0
    c.poll()
    assert [number for number, _ in c.ends] == [1, 0]
    assert "no version" in c.ends[0][1].version_mismatch
    assert c.network.closed == []


def test_disconnect_reports_requests_and_remove_does_not():
    """NET-INF-07."""
    c = Client()
    for node_id in (1, 2):
        c.become_ready(node_id)
        c.send(node_id)
    c.client.disconnect(1, c.now_ms, "test")
    c.client.close_node(2, c.now_ms)
    c.poll()
    assert [(c.sent[number], response.disconnected) for number, response in c.ends] == [(1, True)]
    assert c.client.usable_at_ms(1, 0) == 50 and c.client.usable_at_ms(2, 0) == 0
    assert c.client.connection_failed(1) and not c.client.connection_failed(2)
    assert sorted(c.network.closed) == [1, 2]
    assert [event.node for event in c.events if isinstance(event, RequestLost)] == [1]


def test_removing_a_node_completes_internal_requests():
    """NET-INF-07: otherwise the client would wait for metadata forever."""
    c = Client()
    c.become_ready(1)
    c.send(1, is_internal=True)
    c.client.close_node(1, c.now_ms)
    c.poll()
    assert [response.disconnected for _, response in c.ends] == [True]


def test_disconnecting_a_disconnected_node_does_nothing():
    c = Client()
    c.client.disconnect(1, 0, "test")
    c.become_ready(1)
    c.network.lose(1)
    c.poll()
    failures = c.client.usable_at_ms(1, 0)
    c.client.disconnect(1, 0, "test")
    assert c.client.usable_at_ms(1, 0) == failures


def test_coordinator_has_its_own_connection():
    """NET-CON-16: one broker has two sockets, and a delay on one does not affect the other."""
    c = Client(max_in_flight_requests_per_connection=1)
    coordinator = coordinator_node(c.metadata.nodes[1])
    assert coordinator.id == INT32_MAX - 1
    assert not c.client.ready(coordinator.id, 0) and coordinator.id not in c.network.open
    c.client.add_node(coordinator)
    for node_id in (1, coordinator.id):
        c.become_ready(node_id)
    assert c.network.addresses[1] == c.network.addresses[coordinator.id] == ("b1", 9092)
    assert c.send(1) and not c.send(1)
    assert c.send(coordinator.id)
    assert (
        c.client.least_loaded_node(0) == 2
    )  # the data node is full, and the coordinator's is not for all requests
    c.network.lose(1)
    c.poll()
    assert c.client.connection_state(coordinator.id) is ConnectionState.READY
    c.client.close_node(coordinator.id, 0)
    assert c.client.node(coordinator.id) is None


@pytest.mark.parametrize("order", [["idle", "busy"], ["busy", "idle"]])
def test_least_loaded_node_by_rank(order):
    """NET-CON-13: the fewest in flight, then connecting, then tried longest ago, never in its backoff."""
    c = Client()
    c.metadata.nodes = {number: Node(number, f"b{number}", 9092) for number, _ in enumerate(order, 1)} | {
        9: Node(9, "b9", 9092)
    }
    busy, idle = order.index("busy") + 1, order.index("idle") + 1
    assert c.client.least_loaded_node(0) in c.metadata.nodes
    c.client.ready(9, 0)
    assert c.client.least_loaded_node(0) == 9
    for node_id in (busy, idle):
        c.become_ready(node_id)
    c.send(busy)
    c.network.polled.completed_sends.append(busy)
    c.poll()
    assert c.client.can_send_request(busy, 0)
    assert c.client.least_loaded_node(0) == idle
    for node_id, at_ms in ((idle, 5), (busy, 6), (9, 7)):
        c.now_ms = at_ms
        c.network.lose(node_id)
        c.poll()
    assert c.client.least_loaded_node(8) is None
    assert c.client.least_loaded_node(1_000) == idle


def test_due_metadata_request_precedes_all_others():
    """The check in isReady: callers wait, the updater does not."""
    c = Client()
    c.become_ready(1)
    assert c.client.is_ready(1, 0)
    c.metadata.is_asking = False
    assert not c.client.is_ready(1, 0)
    assert c.client.can_send_request(1, 0)
    c.metadata.failed(0, "test")
    assert c.client.is_ready(1, 0)


def test_disconnect_reports_the_state_reached():
    c = Client()
    for state in (ChannelState.NOT_CONNECTED, ChannelState.AUTHENTICATION_FAILED):
        c.now_ms += 10_000
        c.client.ready(1, c.now_ms)
        c.network.lose(1, state)
        c.poll()
    ends = [event for event in c.events if isinstance(event, ConnectionEnded)]
    assert [event.state for event in ends] == ["NOT_CONNECTED", "AUTHENTICATION_FAILED"]
    assert "may not be available" in ends[0].detail
