"""Connections in virtual time: the states up to READY, how often a node is tried, and which node is used."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from clients.adapters.reference.simulated import SimulatedSelector
from clients.reference.common.backoff import ExponentialBackoff
from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.ports import Node
from clients.reference.states import ConnectionState
from clients.reference.telemetry.trace import StateChanged, no_trace
from harness.simulated.scheduler import NS_PER_MS
from harness.wire.apis import Api
from harness.wire.messages import make, message_class, nested


class Dialling(SimulatedSelector):
    """A World with ``connects``, the attempts to connect: when, and to which node."""

    def __init__(self, network, channel):
        super().__init__(network, channel)
        self.connects = []

    def connect(self, node_id, address):
        self.connects.append((self._network.scheduler.now_ns // NS_PER_MS, node_id))
        super().connect(node_id, address)


def bootstrapped_ms(w):
    """Return when the client connected to the bootstrap server."""
    return [at_ms for at_ms, node_id in w.selector.connects if node_id == -1]


def connected_states(w, node):
    moves = [e for e in w.told(StateChanged) if e.machine == "connection" and e.subject == str(node)]
    return [(move.before, move.after) for move in moves]


def test_states_from_disconnected_to_ready(world):
    """NET-CON-01."""
    w = world()
    w.settle(w.send())
    assert connected_states(w, 1) == [
        ("DISCONNECTED", "CONNECTING"),
        ("CONNECTING", "CHECKING_API_VERSIONS"),
        ("CHECKING_API_VERSIONS", "READY"),
    ]


@pytest.mark.parametrize("highest", [0, 1, 2, 3])
def test_api_versions_falls_back_on_the_same_connection(world, highest):
    """NET-CON-02, KIP-511."""
    w = world(selector=Dialling)
    kind = message_class(Api.API_VERSIONS, 0, "response")
    known = make(nested(kind, "ApiVersion"), api_key=Api.API_VERSIONS, min_version=0, max_version=highest)
    unsupported = make(kind, error_code=ErrorCode.unsupported_version, api_keys=(known,))
    w.brokers.script = lambda seen: (
        seen.edit(lambda body: unsupported)
        if seen.api is Api.API_VERSIONS and seen.version > highest
        else None
    )
    w.settle(w.send())
    assert [seen.version for seen in w.brokers.requests(Api.API_VERSIONS)] == [4, highest] * 2
    assert len(w.selector.connects) == 2


def test_api_versions_error_closes_and_backs_off(world):
    """NET-CON-03."""
    w = world(selector=Dialling)
    w.brokers.fates(-1, -1, api=Api.API_VERSIONS)
    w.settle(w.send())
    times = bootstrapped_ms(w)
    assert times == [1_000, 1_050, 1_150]


@given(st.integers(0, 5_000), st.integers(0, 20_000), st.floats(-1, 1), st.integers(0, 40))
def test_backoff_is_exponential_jittered_and_capped(initial_ms, max_ms, jitter, failures):
    """NET-CON-05: within 20 % of initial x 2^n, never above the cap."""
    delay_ms = ExponentialBackoff(initial_ms, max_ms, lambda: jitter).delay_ms(failures)
    ceiling_ms = max_ms
    plain_ms = min(initial_ms * 2**failures, ceiling_ms)
    assert 0.8 * plain_ms - 1 <= delay_ms <= min(1.2 * plain_ms + 1, ceiling_ms)


def test_refusing_node_is_tried_at_growing_intervals(world):
    """NET-CON-05."""
    w = world(selector=Dialling)
    delivery = w.send()
    w.refuse()
    w.run(3_000)
    w.accept()
    w.settle(delivery)
    times = bootstrapped_ms(w)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps == [50, 100, 200, 400, 800, 1_000, 1_000]


def test_accept_then_close_is_backed_off_like_a_refusal(world):
    """NET-CON-06: only READY resets the count."""
    w = world(selector=Dialling)
    w.brokers.script = lambda seen: "close-before" if w.now_ms < 4_000 else None
    w.settle(w.send())
    times = bootstrapped_ms(w)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps == [50, 100, 200, 400, 800, 1_000, 1_000]


def test_lost_ready_connection_counts_as_a_failure(world):
    """NET-CON-07: the client never reconnects at once, and forgets the failure once READY."""
    w = world(selector=Dialling)
    for _ in range(3):
        w.settle(w.send())
        w.drop()
        lost_ms = w.now_ms
        w.settle(w.send())
        assert w.selector.connects[-1] == (lost_ms + 50, 1)


def test_slow_setup_times_out_and_the_timeout_grows(world):
    """NET-CON-08, KIP-601."""
    w = world(
        selector=Dialling,
        socket_connection_setup_timeout_ms=1_000,
        socket_connection_setup_timeout_max_ms=4_000,
        reconnect_backoff_ms=50,
        reconnect_backoff_max_ms=50,
    )
    delivery = w.send()
    w.proxy().ignore("test")
    w.run(59_000)
    w.accept()
    w.settle(delivery)
    times = bootstrapped_ms(w)
    gaps = [later - earlier for earlier, later in pairwise(times)][:4]
    assert gaps == [1_051, 2_051, 4_051, 4_051]


def test_new_address_resets_the_backoff():
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
    from clients.reference.config.producer_config import ProducerConfig

    config = ProducerConfig.from_mapping({"bootstrap.servers": "b:1"})
    return ClusterConnectionStates(config, lambda host, port: ((host, port),), lambda: 0.0, no_trace)


def test_least_loaded_node_is_preferred(world):
    """NET-CON-13: an idle ready node, or else one that is connecting, or else the one tried longest ago.

    A node in its backoff is never used.
    """
    w = world(nodes=3)
    w.settle(w.send())
    client = w.client
    assert client.least_loaded_node(w.now_ms) == 1
    w.drop()
    w.scheduler.run(w.scheduler.now_ns + NS_PER_MS)
    w.core.run_once(w.now_ms)
    chosen = client.least_loaded_node(w.now_ms)
    assert chosen in (2, 3)
    client.ready(chosen, w.now_ms)
    assert client.connection_state(chosen) is ConnectionState.CONNECTING
    assert client.least_loaded_node(w.now_ms) == chosen
