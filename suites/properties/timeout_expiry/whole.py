"""All clocks at once, under any faults: every send has one result in time, and no limit is early or late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from clients.reference.producer.producer import Components
from clients.reference.producer.send_handle import Delivery
from harness.simulated.scheduler import NS_PER_MS
from harness.wire.apis import Api
from suites.checks.trace.clocks import Limits
from suites.checks.trace.deadlines import Deadlines
from suites.checks.trace.in_flight import InFlight
from suites.checks.trace.transition import Transitions
from suites.properties.property import client_property
from suites.properties.simulation import TOPIC, Simulation
from suites.properties.timeout_expiry.clock import LATE_MS, nothing_raised

NODES, PARTITIONS = 2, 3
Action = Callable[[], None]


@dataclass(frozen=True)
class Fault:
    """What goes wrong, when, where and for how long. ``name`` is a method of _Faults."""

    name: str
    at_ms: int
    lasts_ms: int
    node: int


class _Faults:
    """The faults of a simulation. Each method begins one and returns what ends it."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation

    def plan(self, number: int, fault: Fault) -> None:
        simulation, key = self.simulation, f"fault {number}"

        def begin() -> None:
            end: Action = getattr(self, fault.name)(key, fault.node)
            simulation.network.later(fault.lasts_ms * NS_PER_MS, end)

        simulation.network.later(fault.at_ms * NS_PER_MS, begin)

    def silent_down(self, key: str, node: int) -> Action:
        return self._silence(key, node, lambda: self.simulation.proxy(node).down.silence(key))

    def silent_up(self, key: str, node: int) -> Action:
        return self._silence(key, node, lambda: self.simulation.proxy(node).up.silence(key))

    def slow(self, key: str, node: int) -> Action:
        return self._direction(
            key, node, lambda: self.simulation.proxy(node).down.delay(key, 150 * NS_PER_MS)
        )

    def _silence(self, key: str, node: int, begin: Action) -> Action:
        """Swallowed bytes are missing from the connection forever, so the connection is cut at the end."""
        restore = self._direction(key, node, begin)

        def end() -> None:
            restore()
            self.simulation.proxy(node).cut()

        return end

    def _direction(self, key: str, node: int, begin: Action) -> Action:
        proxy = self.simulation.proxy(node)
        begin()
        proxy.retime()

        def end() -> None:
            proxy.up.restore(key)
            proxy.down.restore(key)
            proxy.retime()

        return end

    def cut(self, key: str, node: int) -> Action:
        self.simulation.proxy(node).cut()
        return _nothing

    def reset(self, key: str, node: int) -> Action:
        self.simulation.proxy(node).cut(reset=True)
        return _nothing

    def refuse(self, key: str, node: int) -> Action:
        self.simulation.proxy(node).refuse(key)
        self.simulation.proxy(node).cut()
        return lambda: self.simulation.proxy(node).accept(key)

    def ignore(self, key: str, node: int) -> Action:
        self.simulation.proxy(node).ignore(key)
        self.simulation.proxy(node).cut()
        return lambda: self.simulation.proxy(node).accept(key)

    def errors(self, key: str, node: int) -> Action:
        self.simulation.cluster.inject_error(Api.PRODUCE, 7, 3)
        return _nothing

    def stored_and_refused(self, key: str, node: int) -> Action:
        self.simulation.cluster.inject_error(Api.PRODUCE, 20, 2, after_append=True)
        return _nothing

    def throttle(self, key: str, node: int) -> Action:
        self.simulation.cluster.set_throttle_ms(Api.PRODUCE, 40)
        return lambda: self.simulation.cluster.set_throttle_ms(Api.PRODUCE, 0)

    def move(self, key: str, node: int) -> Action:
        for partition in range(PARTITIONS):
            self.simulation.cluster.move_leader(TOPIC, partition, node, self.simulation.scheduler.now_ns)
        return _nothing

    def small_messages(self, key: str, node: int) -> Action:
        self.simulation.cluster.alter_config(TOPIC, {"max.message.bytes": "400"})
        return lambda: self.simulation.cluster.alter_config(TOPIC, {"max.message.bytes": None})


def _nothing() -> None:
    """Do nothing, for faults without an end."""


KINDS = sorted(name for name in vars(_Faults) if not name.startswith("_") and name != "plan")
FAULTS = st.lists(
    st.builds(
        Fault, st.sampled_from(KINDS), st.integers(0, 2_500), st.integers(1, 2_500), st.integers(1, NODES)
    ),
    max_size=5,
)
SENDS = st.lists(
    st.tuples(st.just(0) | st.integers(0, 400), st.integers(0, PARTITIONS - 1), st.integers(1, 300)),
    min_size=1,
    max_size=15,
)
SETTINGS = st.fixed_dictionaries(
    {
        "linger.ms": st.sampled_from([0, 5, 100]),
        "batch.size": st.sampled_from([200, 1_000, 16_384]),
        "request.timeout.ms": st.sampled_from([100, 300, 900]),
        "delivery.timeout.ms": st.sampled_from([1_000, 2_000, 5_000]),
        "max.block.ms": st.sampled_from([200, 1_500]),
        "buffer.memory": st.sampled_from([2_000, 20_000]),
        "retry.backoff.ms": st.sampled_from([0, 20, 100]),
        "reconnect.backoff.ms": st.sampled_from([0, 10, 100]),
        "reconnect.backoff.max.ms": st.sampled_from([100, 1_000]),
        "max.in.flight.requests.per.connection": st.integers(1, 5),
        "metadata.max.age.ms": st.sampled_from([300, 2_000, 300_000]),
        "connections.max.idle.ms": st.sampled_from([500, 540_000]),
        "socket.connection.setup.timeout.ms": st.sampled_from([200, 3_000]),
        "enable.idempotence": st.booleans(),
    }
)


@client_property(
    "NET-INF-06",
    "PRD-FIN-01",
    "PRD-SND-13",
    "PRD-EXP-01",
    "PRD-EXP-05",
    "NET-TMO-01",
    "MET-01",
    "MET-11",
    settings=SETTINGS,
    faults=FAULTS,
    sends=SENDS,
    jitter=st.floats(-1, 1),
    trip_ms=st.sampled_from([0, 0, 5, 40]),
)
def each_send_ends_once_and_in_time(
    components: Components,
    settings: dict[str, object],
    faults: list[Fault],
    sends: list[tuple[int, int, int]],
    jitter: float,
    trip_ms: int,
) -> None:
    """Whatever goes wrong, every send has exactly one result, in time, and no limit is early or late."""
    simulation = Simulation(components, settings, nodes=NODES, partitions=PARTITIONS, jitter=lambda: jitter)
    for proxy in simulation.network.proxies:
        proxy.down.delay("far away", trip_ms * NS_PER_MS)
    for number, fault in enumerate(faults):
        _Faults(simulation).plan(number, fault)
    calls: list[tuple[int, int, bool]] = []
    deliveries: list[Delivery] = []
    for number, (gap_ms, partition, size_bytes) in enumerate(sends):
        simulation.run(gap_ms)
        told = lambda _, error, number=number: calls.append((number, simulation.now_ms, error is None))  # noqa: E731
        deliveries.append(simulation.send(b"x" * size_bytes, partition=partition, callback=told))
        simulation.rounds()
    config = simulation.config
    longest_ms = config.max_block_ms + config.delivery_timeout_ms + 2 * LATE_MS
    simulation.run_until(lambda: all(each.is_done for each in deliveries), longest_ms)
    assert all(each.is_done for each in deliveries), "a send has no result in time"
    simulation.run(10_000)
    assert simulation.close(1_000, 2_000), "close(1000) takes more than 2000 ms"
    assert sorted(number for number, _, _ in calls) == list(range(len(sends))), "not told exactly once"
    assert all(stored is (deliveries[number].error is None) for number, _, stored in calls)
    assert not simulation.core.not_at_rest(), simulation.core.not_at_rest()[0]
    if config.max_in_flight_requests_per_connection == 1:
        for partition in range(PARTITIONS):
            numbers = [n for n, _, _ in calls if sends[n][1] == partition and deliveries[n].batch is not None]
            assert numbers == sorted(numbers), f"the callbacks of partition {partition} ran out of order"
    nothing_raised(simulation)
    _no_breach(simulation)


def _no_breach(simulation: Simulation) -> None:
    config = simulation.config
    limits = Limits(
        request_ms=config.request_timeout_ms,
        setup_ms=config.socket_connection_setup_timeout_ms,
        setup_max_ms=config.socket_connection_setup_timeout_max_ms,
        reconnect_ms=config.reconnect_backoff_ms,
        reconnect_max_ms=config.reconnect_backoff_max_ms,
        retry_ms=config.retry_backoff_ms,
        retry_max_ms=config.retry_backoff_max_ms,
        delivery_ms=config.delivery_timeout_ms,
        linger_ms=config.linger_ms,
        max_block_ms=config.max_block_ms,
        metadata_max_age_ms=config.metadata_max_age_ms,
        metadata_max_idle_ms=config.metadata_max_idle_ms,
        connections_max_idle_ms=config.connections_max_idle_ms,
        close_ms=1_000,
        slack_ms=LATE_MS,
    )
    in_flight = InFlight(
        config.max_in_flight_requests_per_connection,
        answers_produce=True,
        backoff_ms=config.reconnect_backoff_ms,
        backoff_max_ms=config.reconnect_backoff_max_ms,
    )
    for monitor in (Deadlines(limits), in_flight, Transitions()):
        breaches = monitor.watch(simulation.trace)
        assert not breaches, f"{type(monitor).__name__}: {breaches[0]}"
