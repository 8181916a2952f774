"""Connections and requests: order, correlation, versions, backoff and timeouts, in virtual time."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.backoff import ExponentialBackoff
from clients.reference.connection_states import ClusterConnectionStates
from clients.reference.errors import IllegalStateError
from clients.reference.in_flight_requests import InFlightRequest, InFlightRequests
from clients.reference.metadata import Metadata
from clients.reference.network_client import NetworkClient
from clients.reference.ports import INT32_MAX, Node
from clients.reference.requests import ClientRequest
from clients.reference.states import ConnectionState
from clients.reference.trace import Misbehaved, RequestLost, StateChanged, no_trace
from harness.wire.apis import Api


def produces(cluster):
    return cluster.requests(Api.PRODUCE)


def connected_states(w, node):
    moves = [e for e in w.of(StateChanged) if e.machine == "connection" and e.subject == str(node)]
    return [(move.before, move.after) for move in moves]


def test_the_walk_to_ready(world):
    """NET-CON-01."""
    w = world()
    w.settle(w.send())
    assert connected_states(w, 1) == [
        ("DISCONNECTED", "CONNECTING"),
        ("CONNECTING", "CHECKING_API_VERSIONS"),
        ("CHECKING_API_VERSIONS", "READY"),
    ]


@pytest.mark.parametrize("highest", [0, 1, 2, 3])
def test_api_versions_falls_back_on_the_same_connection(world, cluster, highest):
    """NET-CON-02, KIP-511."""
    cluster.versions[Api.API_VERSIONS] = (0, highest)
    w = world()
    w.settle(w.send())
    assert [seen.version for seen in cluster.requests(Api.API_VERSIONS)] == [4, highest] * 2
    assert len(cluster.connects) == 2


def test_an_error_in_api_versions_closes_and_backs_off(world, cluster):
    """NET-CON-03."""
    verdicts = iter([-1, -1])
    cluster.script = lambda seen: next(verdicts, None) if seen.api is Api.API_VERSIONS else None
    w = world()
    w.settle(w.send())
    times = [at_ms for at_ms, node in cluster.connects if node.id == -1]
    assert times == [1_000, 1_054, 1_158]  # 4 ms to be refused, then 50 and 100 ms


def test_a_version_outside_the_brokers_range_is_never_sent(world, cluster):
    """NET-CON-04, PRD-SND-07: a local failure, nothing written, the connection stays."""
    cluster.versions[Api.PRODUCE] = (14, 15)
    w = world(enable_idempotence=False)
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error.name == "UNSUPPORTED_VERSION"
    assert produces(cluster) == []
    assert cluster.closed == []


@pytest.mark.parametrize("highest", range(3, 14))
def test_every_produce_version_is_spoken(world, cluster, highest):
    cluster.versions[Api.PRODUCE] = (0, highest)
    w = world()
    w.settle(w.send(), w.send(partition=1))
    assert {seen.version for seen in produces(cluster)} == {highest}
    assert cluster.log("t").values and cluster.log("t", 1).values


@pytest.mark.parametrize("highest", range(4, 14))
def test_every_metadata_version_is_spoken(world, cluster, highest):
    """Before version 10 there is no topic id, and Produce goes by name."""
    cluster.versions[Api.METADATA] = (0, highest)
    w = world()
    w.settle(w.send())
    assert {seen.version for seen in cluster.requests(Api.METADATA)} == {highest}
    assert {seen.version for seen in produces(cluster)} == {13 if highest >= 10 else 12}


@given(st.integers(0, 5_000), st.integers(0, 20_000), st.floats(-1, 1), st.integers(0, 40))
def test_backoff_is_exponential_jittered_and_capped(initial_ms, max_ms, jitter, failures):
    """NET-CON-05: within 20 % of initial x 2^n, never above the cap."""
    delay_ms = ExponentialBackoff(initial_ms, max_ms, lambda: jitter).delay_ms(failures)
    ceiling_ms = max_ms
    plain_ms = min(initial_ms * 2**failures, ceiling_ms)
    assert 0.8 * plain_ms - 1 <= delay_ms <= min(1.2 * plain_ms + 1, ceiling_ms)


def test_a_refusing_node_is_tried_at_growing_distances(world, cluster):
    """NET-CON-05."""
    cluster.accepts = lambda node: "refused" if w.now_ms < 4_000 else None
    w = world()
    w.settle(w.send())
    times = [at_ms for at_ms, node in cluster.connects if node.id == -1]
    gaps = [later - earlier - 2 for earlier, later in pairwise(times)]
    assert gaps == [50, 100, 200, 400, 800, 1_000, 1_000]


def test_accepting_and_closing_is_backed_off_like_refusing(world, cluster):
    """NET-CON-06: only READY resets the count."""
    cluster.script = lambda seen: "close-before" if w.now_ms < 4_000 else None
    w = world()
    w.settle(w.send())
    times = [at_ms for at_ms, node in cluster.connects if node.id == -1]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps == [54, 104, 204, 404, 804, 1_004, 1_004]


def test_losing_a_ready_connection_counts_as_a_failure(world, cluster):
    """NET-CON-07: never an immediate reconnect; and the failure is forgotten once READY."""
    w = world()
    for _ in range(3):
        w.settle(w.send())
        cluster.drop(1)
        lost_ms = w.now_ms
        w.settle(w.send())
        assert cluster.connects[-1] == (lost_ms + 50, cluster.brokers[1])


def test_a_set_up_that_takes_too_long_is_given_up_and_the_limit_grows(world, cluster):
    """NET-CON-08, KIP-601."""
    cluster.accepts = lambda node: "" if w.now_ms < 60_000 else None
    w = world(
        socket_connection_setup_timeout_ms=1_000,
        socket_connection_setup_timeout_max_ms=4_000,
        reconnect_backoff_ms=50,
        reconnect_backoff_max_ms=50,
    )
    w.settle(w.send())
    times = [at_ms for at_ms, node in cluster.connects if node.id == -1]
    gaps = [later - earlier for earlier, later in pairwise(times)][:4]
    assert gaps == [1_051, 2_051, 4_051, 4_051]


def test_a_new_address_forgets_the_old_ones_backoff():
    """NET-CON-10."""
    w = states_only()
    old, new = Node(1, "old", 1), Node(1, "new", 1)
    w.connecting(old, 0)
    w.disconnected(1, 0, "gone")
    assert not w.can_connect(old, 0)
    assert w.can_connect(new, 0)
    w.connecting(new, 0)
    w.disconnected(1, 0, "gone")
    assert w.usable_at_ms(1, 0) == 50


def states_only():
    from clients.reference.config import ProducerConfig

    config = ProducerConfig.from_mapping({"bootstrap.servers": "b:1"})
    return ClusterConnectionStates(config, lambda host, port: ((host, port),), lambda: 0.0, no_trace)


def test_an_answer_with_the_wrong_correlation_id_is_never_delivered(world, cluster):
    """NET-INF-01: the connection ends, and the batch is sent again."""
    swapped = iter([lambda payload: b"\x7f\x00\x00\x00" + payload[4:]])
    cluster.script = lambda seen: next(swapped, None) if seen.api is Api.PRODUCE else None
    w = world()
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert len(produces(cluster)) == 2
    assert any("correlation id" in event.what for event in w.of(Misbehaved))
    assert cluster.log("t").next_offset == 1


@pytest.mark.parametrize(
    "garbage", [b"", b"\x00", b"\xff" * 40, lambda payload: payload[:-1], lambda p: p + b"\0"]
)
def test_an_unreadable_answer_ends_the_connection_and_nothing_else(world, cluster, garbage):
    """NET-INF-10."""
    verdicts = iter([garbage])
    cluster.script = lambda seen: next(verdicts, None) if seen.api is Api.PRODUCE else None
    w = world()
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert cluster.log("t").next_offset == 1


def test_a_slow_request_ends_the_connection_with_all_that_is_on_it(world, cluster):
    """NET-TMO-01, -02: strictly longer than request.timeout.ms; both requests complete, oldest first."""
    w = world(enable_idempotence=False, batch_size=0, request_timeout_ms=500, linger_ms=0)
    w.settle(w.send())
    held = iter(["hold", "hold"])
    cluster.script = lambda seen: next(held, None) if seen.api is Api.PRODUCE else None
    w.send()
    w.run_for(1)
    w.send()
    sent_ms = w.now_ms - 1
    w.run_for(499)
    assert cluster.closed == []
    w.run_for(2)
    assert cluster.closed == [(sent_ms + 501, 1)]
    lost = w.of(RequestLost)
    assert [(event.correlation_id, event.timed_out) for event in lost] == [
        (seen.correlation_id, True) for seen in produces(cluster)[1:3]
    ]


def test_a_timeout_asks_for_fresh_metadata(world, cluster):
    """NET-TMO-05."""
    w = world(request_timeout_ms=500)
    w.settle(w.send())
    before = len(cluster.requests(Api.METADATA))
    cluster.script = lambda seen: "hold" if seen.api is Api.PRODUCE and len(produces(cluster)) == 2 else None
    w.settle(w.send())
    assert len(cluster.requests(Api.METADATA)) > before


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_no_more_requests_than_allowed_are_outstanding(world, cluster, limit):
    """NET-INF-03."""
    cluster.latency_ms = 50
    w = world(
        batch_size=0, linger_ms=0, enable_idempotence=False, max_in_flight_requests_per_connection=limit
    )
    deliveries = [w.send() for _ in range(20)]
    outstanding = []

    def all_done():
        outstanding.append(w.core._client._in_flight.count(1))
        return all(delivery.is_done for delivery in deliveries)

    w.run_until(all_done)
    assert max(outstanding) == limit


def test_sending_to_a_node_that_is_not_ready_is_a_defect(world, cluster):
    """NET-INF-04."""
    w = world()
    client = NetworkClient(
        w.config, cluster, Metadata(w.config, lambda: 0.0, no_trace), lambda: 0.0, no_trace
    )
    request = ClientRequest(1, Api.METADATA, lambda v: None, lambda r, t: None, timeout_ms=1)
    with pytest.raises(IllegalStateError):
        client.send(request, 0)


def test_a_completion_that_raises_stops_nobody(world, cluster):
    """NET-INF-08."""
    w = world()
    w.settle(w.send())
    answered = []

    def complain(response, now_ms):
        answered.append(response)
        raise RuntimeError("mine")

    def build(version):
        from clients.reference.requests import metadata_request

        return metadata_request(["t"], allow_auto_topic_creation=False)(version)

    client = w.core._client
    client.send(ClientRequest(1, Api.METADATA, build, complain, timeout_ms=100), w.now_ms)
    w.settle(w.send())
    assert len(answered) == 1
    assert any("RuntimeError: mine" in event.what for event in w.of(Misbehaved))


def test_correlation_ids_wrap_and_leave_the_reserved_ones_out(world, cluster):
    """NET-INF-02."""
    w = world()
    w.core._client._exchanges.next_correlation_id = INT32_MAX - 9
    w.settle(w.send())
    ids = [seen.correlation_id for seen in cluster.seen]
    assert ids[:4] == [INT32_MAX - 9, INT32_MAX - 8, -INT32_MAX - 1, -INT32_MAX]


@given(
    st.lists(st.tuples(st.integers(1, 2), st.sampled_from(["add", "sent", "answer", "lose"])), max_size=40)
)
def test_in_flight_requests_are_a_queue_for_each_node(steps):
    """NET-INF-01, -03, -06, against a plain model."""
    real = InFlightRequests(3)
    model: dict[int, list[InFlightRequest]] = {1: [], 2: []}
    for number, (node_id, step) in enumerate(steps):
        queue = model[node_id]
        assert real.can_send_more(node_id) == (not queue or (queue[-1].sent and len(queue) < 3))
        if step == "add" and real.can_send_more(node_id):
            request = ClientRequest(
                node_id, Api.PRODUCE, lambda v: None, lambda r, t: None, timeout_ms=number
            )
            queue.append(InFlightRequest(node_id, request, 0, number, 0))
            real.add(queue[-1])
        elif step == "sent" and queue:
            real.newest(node_id).sent = True
        elif step == "answer" and queue:
            assert real.complete_oldest(node_id) is queue.pop(0)
        elif step == "lose":
            assert real.clear(node_id) == queue
            queue.clear()
        assert [real.count(node) for node in (1, 2)] == [len(model[node]) for node in (1, 2)]
        everything = [request for requests in model.values() for request in requests]
        assert real.next_expiry_ms() == min((r.expires_ms for r in everything), default=None)


def test_the_least_loaded_node_is_preferred(world, cluster):
    """NET-CON-13: an idle ready node, else one being connected, else the one tried longest ago; never a backed-off
    one."""
    for number in (2, 3):
        cluster.brokers[number] = Node(number, f"b{number}", 9092)
    w = world()
    w.settle(w.send())
    client = w.core._client
    assert client.least_loaded_node(w.now_ms) == 1
    cluster.drop(1)
    w.core.run_once(w.now_ms)
    chosen = client.least_loaded_node(w.now_ms)
    assert chosen in (2, 3)
    client.ready(chosen, w.now_ms)
    assert client._states.state(chosen) is ConnectionState.CONNECTING
    assert client.least_loaded_node(w.now_ms) == chosen
