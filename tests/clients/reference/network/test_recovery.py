"""Recovery: rebootstrap, idle connections, changing addresses, and throttling brokers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.network.idle_connections import IdleConnections
from clients.reference.network.throttling import client_throttle_ms
from clients.reference.states import ConnectionState
from clients.reference.telemetry.trace import (
    ConnectAttempt,
    ConnectionEnded,
    NodeThrottled,
    Rebootstrapped,
    RequestLost,
    RequestSent,
    ResponseReceived,
)
from harness.wire.apis import Api


def throttling(w, *fates):
    """Give the responses to Produce these throttle times in ms, or other fates, one after the other."""
    left = iter(fates)

    def script(seen):
        disposition = next(left, None) if seen.api is Api.PRODUCE else None
        if not isinstance(disposition, int):
            return disposition
        told = timedelta(milliseconds=disposition)
        return seen.edit(lambda body: replace(body, throttle_time=told))

    w.brokers.script = script


def sent_ms(w, api):
    return [event.at_ms for event in w.told(RequestSent) if event.api == api]


def ended(w):
    return [(event.node, event.state) for event in w.told(ConnectionEnded)]


# throttling


def test_throttled_node_gets_no_requests_and_keeps_its_socket(world):
    """NET-CON-12."""
    w = world(linger_ms=0)
    throttling(w, 700)
    w.settle(w.send())
    answered_ms = w.now_ms
    delivery = w.send()
    w.settle(delivery)
    assert sent_ms(w, "Produce")[1] == answered_ms + 700
    assert w.closed == [] and ended(w) == []
    assert w.told(NodeThrottled)[-1].until_ms == answered_ms + 700
    assert w.told(ResponseReceived)[-2].throttle_ms == 700


@pytest.mark.parametrize(("highest", "waits"), [(5, False), (6, True)])
def test_before_produce_6_the_broker_throttles(world, highest, waits):
    """NET-CON-12: before Produce version 6 the broker delays the response itself."""
    w = world(linger_ms=0)
    w.brokers.offer(Api.PRODUCE, 0, highest)
    throttling(w, 700)
    w.settle(w.send())
    answered_ms = w.now_ms
    w.settle(w.send())
    assert (sent_ms(w, "Produce")[1] == answered_ms + 700) is waits


#: AbstractResponse#shouldClientThrottle in the response classes of Kafka 4.1.1: the first version that returns true.
THROTTLES_SINCE = {
    Api.PRODUCE: 6,
    Api.METADATA: 6,
    Api.FIND_COORDINATOR: 2,
    Api.API_VERSIONS: 2,
    Api.INIT_PRODUCER_ID: 1,
    Api.ADD_PARTITIONS_TO_TXN: 1,
    Api.ADD_OFFSETS_TO_TXN: 1,
    Api.END_TXN: 1,
    Api.TXN_OFFSET_COMMIT: 1,
}


@given(st.sampled_from(list(THROTTLES_SINCE)), st.integers(0, 20), st.integers(0, 10_000))
def test_which_responses_throttle_the_client(api, version, told_ms):
    """NET-CON-12."""

    class Body:
        throttle_time = timedelta(milliseconds=told_ms)

    due_ms = told_ms if version >= THROTTLES_SINCE[api] else 0
    assert client_throttle_ms(api, version, Body) == due_ms
    assert client_throttle_ms(Api.FETCH_SNAPSHOT, version, Body) == 0


def test_throttle_time_extends_request_timeout(world):
    """NET-TMO-04: the second request's response may arrive later by the throttle time."""
    w = world(enable_idempotence=False, batch_size=0, linger_ms=0, request_timeout_ms=500)
    w.settle(w.send())
    w.slow(2)
    throttling(w, 2_000, "hold")
    w.send()
    w.run(1)
    w.send()
    w.until(lambda: bool(w.closed))
    assert w.closed == [(sent_ms(w, "Produce")[2] + 2_000 + 501, 1)]


def test_throttled_node_is_not_least_loaded(world):
    """NET-CON-13. Throttling does not cause a rebootstrap either (NET-CON-15)."""
    w = world(linger_ms=0)
    w.settle(w.send())
    throttling(w, 60_000)
    w.settle(w.send())
    client = w.client
    assert client.least_loaded_node(w.now_ms) is None
    w.metadata.request_update()
    w.run(50_000)
    assert w.told(Rebootstrapped) == []
    w.run(11_000)
    assert client.least_loaded_node(w.now_ms) == 1


# idle connections


def test_idle_connection_is_closed_without_failures(world):
    """NET-CON-14."""
    w = world(connections_max_idle_ms=5_000)
    w.settle(w.send())
    w.until(lambda: (1, "EXPIRED") in ended(w))
    w.run(1)
    used_ms = max(event.at_ms for event in w.told(ResponseReceived) if event.node == 1)
    assert (used_ms + 5_001, 1) in w.closed
    assert w.told(RequestLost) == []
    w.settle(w.send())
    assert len(w.brokers.values()) == 2


def test_connection_waiting_for_a_response_is_not_idle(world):
    """NET-CON-14."""
    w = world(connections_max_idle_ms=500)
    w.brokers.fates(then="late")
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert (1, "EXPIRED") not in ended(w)


@given(st.lists(st.tuples(st.sampled_from(["use", "busy", "idle", "look"]), st.integers(1, 4))))
def test_least_recently_used_connection_is_closed_first(steps):
    """NET-CON-14: one per round, strictly later than the limit."""
    idle, model, busy = IdleConnections(10), {}, set()
    for now_ms, (step, node_id) in enumerate(steps):
        if step == "use":
            idle.used(node_id, now_ms)
            model[node_id] = now_ms
        elif step == "busy":
            busy.add(node_id)
        elif step == "idle":
            busy.discard(node_id)
        else:
            free = {node: used_ms for node, used_ms in model.items() if node not in busy}
            oldest = min(free, key=free.__getitem__, default=None)
            due = oldest if oldest is not None and now_ms - free[oldest] > 10 else None
            assert idle.expired(now_ms, busy.__contains__) == due
            if due is not None:
                idle.forget(due)
                del model[due]


def test_negative_limit_keeps_idle_connections(world):
    w = world(connections_max_idle_ms=-1, metadata_max_age_ms=10_000_000)
    w.settle(w.send())
    w.run(3_600_000)
    assert ended(w) == []


# rebootstrap


def test_bootstrap_servers_are_used_if_no_node_is_usable(world):
    """NET-CON-15, KIP-899: the cluster has moved, and only its bootstrap name was updated."""
    boot = ["broker-1"]
    w = world(nodes=2, names={"boot": boot}, bootstrap_servers="boot:9092")
    w.cluster.kill(2, 0)
    w.settle(w.send())
    w.cluster.restart(2, 0)
    w.cluster.kill(1, 0)
    w.cluster.recreate_topic("t")
    boot[:] = ["broker-2"]
    w.refuse()
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert w.told(Rebootstrapped)[0].reason == "no known node can be used"
    assert w.brokers.requests()[-1].node_id == 2


def test_without_rebootstrap_known_nodes_are_retried(world):
    """NET-CON-15: metadata.recovery.strategy=none."""
    w = world(metadata_recovery_strategy="none")
    w.settle(w.send())
    w.refuse()
    w.run(10)
    w.trace.clear()
    w.run(400_000)
    assert w.told(Rebootstrapped) == []
    assert {event.node for event in w.told(ConnectAttempt)} == {1}


def test_broker_can_require_rebootstrap(world):
    """NET-CON-15, KIP-1102: every connection is closed, and requests in flight complete as disconnected."""
    w = world(linger_ms=0, metadata_max_age_ms=1_000)
    w.settle(w.send())
    w.slow(100)
    w.brokers.fates(129, api=Api.METADATA)
    before = len(w.brokers.requests(Api.METADATA))
    w.until(lambda: len(w.brokers.requests(Api.METADATA)) > before)
    w.run(20)
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert "REBOOTSTRAP_REQUIRED" in w.told(Rebootstrapped)[0].reason
    assert {state for _, state in ended(w)} == {"REBOOTSTRAP"}
    assert [event.api for event in w.told(RequestLost)] == ["Produce"]
    assert len(w.brokers.values()) == 2  # stored at the first attempt, recognized at the second


def test_rebootstrap_after_trigger_time_without_metadata(world):
    """NET-CON-15, KIP-1102: even if connections can be made but no request is ever answered."""
    w = world(
        metadata_recovery_rebootstrap_trigger_ms=5_000, metadata_max_age_ms=1_000, request_timeout_ms=60_000
    )
    w.settle(w.send())
    w.run(500)
    w.brokers.fates(then="hold", api=Api.METADATA)
    w.until(lambda: bool(w.told(Rebootstrapped)), limit_ms=10_000)
    asked_ms = [event.at_ms for event in w.told(RequestSent) if event.api == "Metadata"][-1]
    assert w.now_ms == asked_ms + 5_001
    assert w.told(Rebootstrapped)[0].reason == "no metadata for 5000 ms"
    w.brokers.fates()
    w.settle(w.send())


def test_repeated_rebootstrap_requests_are_spaced(world):
    """NET-CON-15 with NET-CON-05, MET-02: a cluster that always requires a rebootstrap does not get a request storm."""
    w = world()
    w.brokers.fates(then=129, api=Api.METADATA)
    w.run(30_000)
    assert len(w.brokers.requests(Api.METADATA)) < 50


def test_bootstrap_name_can_resolve_to_many_nodes(world):
    """NET-CON-09, KIP-235: client.dns.lookup=resolve_canonical_bootstrap_servers_only."""
    w = world(
        nodes=3,
        names={"boot": ["broker-3", "broker-1"]},
        bootstrap_servers="boot:9092",
        client_dns_lookup="resolve_canonical_bootstrap_servers_only",
    )
    assert [(node.id, node.host) for node in w.metadata.nodes.values()] == [
        (-1, "broker-3"),
        (-2, "broker-1"),
    ]
    w.refuse(3)
    w.settle(w.send())


def test_addresses_of_a_name_are_tried_until_one_works(world):
    """NET-CON-09, KIP-302."""
    w = world(names={"broker-1": ["elsewhere", "nowhere", "broker-1"]})
    w.settle(w.send())
    tried = [(event.node, event.address) for event in w.told(ConnectAttempt)]
    assert [address for node, address in tried if node == -1] == [
        "elsewhere:9092",
        "nowhere:9092",
        "broker-1:9092",
    ]
    assert w.client.connection_state(1) is ConnectionState.READY
