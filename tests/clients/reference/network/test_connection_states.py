"""One node's connection: addresses in turn, backoff, throttling, and removal of a node."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.errors import AuthenticationError
from clients.reference.network.connection_states import ClusterConnectionStates
from clients.reference.ports import Node
from clients.reference.states import ConnectionState, IllegalTransition
from clients.reference.telemetry.trace import ConnectAttempt, ReconnectBackoff

NODE = Node(1, "b", 9092)


class States(ClusterConnectionStates):
    """Connection states with a resolver that a test can change, and their trace."""

    def __init__(self, addresses=(("ip1", 9092),), jitter=0.0, **settings):
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.events = []
        self.addresses = addresses
        self.resolved = 0
        config = ProducerConfig.from_mapping({"bootstrap.servers": "b:1", **named})
        super().__init__(config, self.resolver, lambda: jitter, self.events.append)

    def resolver(self, host, port):
        self.resolved += 1
        return self.addresses

    def try_and_fail(self, now_ms=0):
        address = self.connecting(NODE, now_ms)
        self.disconnected(1, now_ms, "no")
        return address and address[0]

    def become_ready(self, now_ms=0):
        self.connecting(NODE, now_ms)
        self.checking_api_versions(1, now_ms)
        self.ready(1, now_ms)


def ips(*names):
    return tuple((name, 9092) for name in names)


@given(st.integers(1, 5), st.integers(1, 4))
def test_addresses_are_tried_in_turn_then_resolved_again(count, rounds):
    """NET-CON-09."""
    names = [f"ip{number}" for number in range(count)]
    states = States(ips(*names))
    assert [states.try_and_fail() for _ in range(count * rounds)] == names * rounds
    assert states.resolved == rounds


def test_attempt_waits_for_the_lookup_of_its_name():
    """NET-CON-08, -09: the setup timeout begins with the socket's connection, as its documentation says."""
    states = States(None, socket_connection_setup_timeout_ms=100)
    assert states.connecting(NODE, 0) is None
    assert states.lookups == {1} and list(states.setup_expiries()) == []
    assert states.next_address(1, 5) is None
    states.addresses = ips("ip1", "ip2")
    assert states.next_address(1, 10) == ("ip1", 9092)
    assert states.lookups == set() and list(states.setup_expiries()) == [(1, 111)]


def test_an_unknown_name_is_looked_up_once_for_each_attempt():
    """NET-CON-09: the result of a second lookup would wait for the next attempt, and be out of date by then."""
    states = States(())
    assert states.connecting(NODE, 0) is None
    assert (states.resolved, states.lookups, states.host(1)) == (1, set(), NODE.host)
    states.disconnected(1, 10, "no")
    assert states.connecting(NODE, 10_000) is None
    assert states.resolved == 2


@pytest.mark.parametrize(
    "end", [lambda states: states.disconnected(1, 20, "no"), lambda states: states.forget(1, 20)]
)
def test_end_of_an_attempt_ends_its_lookup(end):
    states = States(None)
    states.connecting(NODE, 0)
    end(states)
    assert states.lookups == set()


def test_lost_connection_resolves_again_and_skips_its_address():
    """NET-CON-09: except if it is the only address."""
    states = States(ips("ip1", "ip2", "ip3"))
    states.become_ready()
    states.disconnected(1, 0, "lost")
    assert [states.try_and_fail() for _ in range(3)] == ["ip2", "ip3", "ip1"]
    states.addresses = ips("new")
    states.become_ready()
    states.disconnected(1, 0, "lost")
    assert states.try_and_fail() == "new"
    assert states.resolved == 4


def test_unknown_name_is_a_failed_attempt():
    """NET-CON-05, -09: it has a backoff, and the name is resolved again."""
    states = States(())
    assert states.try_and_fail(1_000) is None
    assert states.usable_at_ms(1, 1_000) == 1_050
    states.addresses = ips("ip1")
    assert states.try_and_fail(1_050) == "ip1"
    assert [event.address for event in states.events if isinstance(event, ConnectAttempt)] == ["", "ip1:9092"]


@given(st.lists(st.sampled_from(["fail", "ready", "refuse"]), min_size=1, max_size=30), st.floats(-1, 1))
def test_backoff_grows_with_failures_until_ready(fates, jitter):
    """NET-CON-05, -06, -07, -11: a failed authentication counts twice, as a disconnect and as a failure."""
    states = States(jitter=jitter)
    failures = 0
    for disposition in fates:
        if disposition == "ready":
            states.become_ready()
            failures = 0
            states.disconnected(1, 0, "lost")
        else:
            states.try_and_fail()
        failures += 1
        if disposition == "refuse":
            states.authentication_failed(1, AuthenticationError("made-up", "no"), 0)
            failures += 1
        plain_ms = min(50 * 2 ** (failures - 1), 1_000)
        delay_ms = states.usable_at_ms(1, 0)
        assert 0.8 * plain_ms - 1 <= delay_ms <= min(1.2 * plain_ms + 1, 1_000)
        told = [event for event in states.events if isinstance(event, ReconnectBackoff)][-1]
        assert (told.failures, told.delay_ms) == (failures, delay_ms)
        assert not states.can_connect(NODE, delay_ms - 1)
        assert states.can_connect(NODE, delay_ms)


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 500)), min_size=1))
def test_throttle_deadline_never_moves_back(throttles):
    """NET-CON-12."""
    states = States()
    states.become_ready()
    now_ms = latest_ms = 0
    for passed_ms, throttle_ms in throttles:
        now_ms += passed_ms
        states.throttle(1, throttle_ms, now_ms)
        latest_ms = max(latest_ms, now_ms + throttle_ms)
        assert states.is_ready(1, latest_ms)
        if latest_ms > now_ms:
            assert not states.is_ready(1, latest_ms - 1)
            assert states.usable_at_ms(1, now_ms) == latest_ms


def test_throttle_outlives_its_connection():
    """NET-CON-12: a reconnect does not end the throttling."""
    states = States()
    states.become_ready()
    states.throttle(1, 900, 0)
    states.disconnected(1, 10, "lost")
    assert states.usable_at_ms(1, 10) == 60
    states.become_ready(60)
    assert not states.is_ready(1, 899) and states.is_ready(1, 900)


def test_setup_timeout_grows_only_while_connecting_fails():
    """NET-CON-08: it is reset as soon as a connection is established."""
    states = States()

    def limit_ms():
        return [event.setup_timeout_ms for event in states.events if isinstance(event, ConnectAttempt)][-1]

    limits = []
    for _ in range(3):
        states.try_and_fail()
        limits.append(limit_ms())
    states.connecting(NODE, 0)
    limits.append(limit_ms())
    states.checking_api_versions(1, 0)
    states.disconnected(1, 0, "lost")
    states.connecting(NODE, 0)
    assert [*limits, limit_ms()] == [10_000, 20_000, 30_000, 30_000, 10_000]


def test_removed_node_has_no_backoff_and_no_failures():
    """NET-INF-07."""
    states = States()
    states.try_and_fail()
    states.forget(1, 0)
    states.forget(1, 0)
    assert states.can_connect(NODE, 0)
    assert states.state(1) is ConnectionState.DISCONNECTED
    assert states.known() == []


def test_connection_is_not_ready_before_its_versions_are_known():
    """NET-CON-01."""
    states = States()
    states.connecting(NODE, 0)
    with pytest.raises(IllegalTransition):
        states.ready(1, 0)
    with pytest.raises(IllegalTransition):
        states.authentication_failed(1, AuthenticationError("made-up", "no"), 0)
