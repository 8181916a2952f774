"""Which broker is asked, under which address, and how a slow or missing broker affects the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from clients.reference.errors import IllegalStateError
from clients.reference.producer.producer import Components
from clients.reference.telemetry.trace import ConnectAttempt, ConnectionEnded
from harness.simulated.scheduler import NS_PER_MS
from harness.wire.apis import Api
from harness.wire.makers import make, nested
from harness.wire.messages import message_class
from suites.properties.delivery.response_editing import Meddler, Seen
from suites.properties.property import client_property
from suites.properties.simulation import TOPIC, Simulation

NODE, REACHABLE = 1, "broker-1"


@client_property(
    "NET-CON-09",
    dead=st.lists(st.sampled_from(["dead-1", "dead-2", "dead-3"]), max_size=3, unique=True),
    at=st.integers(0, 3),
)
def every_address_gets_its_turn(components: Components, dead: list[str], at: int) -> None:
    """The addresses of a name are tried in turn until one answers. After a loss the name is looked up again."""
    addresses = [*dead[:at], REACHABLE, *dead[at:]]
    simulation = Simulation(components, names={REACHABLE: addresses})
    simulation.warm()
    first_tried = [
        event.address for event in simulation.told(ConnectAttempt)[: addresses.index(REACHABLE) + 1]
    ]
    assert first_tried == [f"{host}:9092" for host in addresses[: len(first_tried)]]
    simulation.network._names[REACHABLE] = ["elsewhere", REACHABLE]
    tried = len(simulation.told(ConnectAttempt))
    simulation.proxy().cut()
    simulation.warm()
    again = [event.address for event in simulation.told(ConnectAttempt)[tried:] if event.node == NODE]
    assert again[:2] == ["elsewhere:9092", f"{REACHABLE}:9092"][: len(again)], again


@client_property("NET-CON-02", known=st.integers(0, 3), named=st.booleans())
def an_older_broker_is_asked_again(components: Components, known: int, named: bool) -> None:
    """A broker that does not know the version of ApiVersions is asked again, with one that it knows.

    The second request uses the same connection.
    """
    simulation = Simulation(components)

    def older(seen: Seen, body: Any) -> Any:
        if seen.version <= known:
            return body
        kind = message_class(Api.API_VERSIONS, 0, "response")
        entry = make(
            nested(kind, "ApiVersion"), api_key=int(Api.API_VERSIONS), min_version=0, max_version=known
        )
        return make(kind, error_code=ErrorCode.unsupported_version, api_keys=(entry,) if named else ())

    meddler = Meddler(simulation, {Api.API_VERSIONS: older})
    simulation.warm()
    asked = [seen.version for seen in meddler.of(Api.API_VERSIONS)]
    assert asked[1] == (known if named else 0), f"asked in {asked}"
    assert not simulation.told(ConnectionEnded)


@client_property("NET-CON-13", throttle_ms=st.integers(200, 2_000), topics=st.integers(1, 4))
def a_throttled_node_is_asked_nothing(components: Components, throttle_ms: int, topics: int) -> None:
    """A request that any broker can answer is not sent to a throttling broker while others are free."""
    simulation = Simulation(components, {"retry.backoff.ms": 10}, nodes=3)
    simulation.warm()
    throttling = simulation.cluster.leader(TOPIC, 0)[0]
    simulation.cluster.set_throttle_ms(Api.PRODUCE, throttle_ms)
    simulation.warm()
    simulation.cluster.set_throttle_ms(Api.PRODUCE, 0)
    until_ms = simulation.now_ms + throttle_ms - 50
    for number in range(topics):
        simulation.cluster.create_topic(f"new-{number}", 1)
        simulation.send(topic=f"new-{number}", partition=0)
        simulation.run(20)
    asked = [event for event in simulation.requests("Metadata") if event.at_ms >= until_ms - throttle_ms + 50]
    assert asked, "no node was asked"
    early = [event for event in asked if event.node == throttling and event.at_ms < until_ms]
    assert not early, f"node {throttling} was asked {early[0].api} while it was throttling"


@client_property(
    "PRD-ACC-13", delay_ms=st.integers(3_000, 20_000), down=st.booleans(), count=st.integers(1, 4)
)
def a_slow_broker_holds_up_its_own_partitions_alone(
    components: Components, delay_ms: int, down: bool, count: int
) -> None:
    """Records for other brokers are sent while one broker accepts nothing."""
    simulation = Simulation(components, {"max.in.flight.requests.per.connection": 1}, nodes=2, partitions=2)
    leaders = {simulation.cluster.leader(TOPIC, partition)[0]: partition for partition in range(2)}
    assert len(leaders) == 2
    for partition in range(2):
        simulation.warm(partition=partition)
    slow = simulation.proxy(1)
    if down:
        slow.refuse("prop")
        slow.cut()
    else:
        slow.down.delay("prop", delay_ms * NS_PER_MS)
    held = [simulation.send(partition=leaders[1])]
    simulation.run(20)
    held.append(simulation.send(partition=leaders[1]))
    for _ in range(count):
        went = simulation.send(partition=leaders[2])
        simulation.run(500)
        assert went.is_done, "held up by another broker"
        assert went.error is None
    assert not any(each.is_done for each in held)


@client_property("MET-15", creates=st.booleans())
def topics_may_be_created_by_being_used(components: Components, creates: bool) -> None:
    """A producer requests topics in a way that lets brokers create them. Otherwise the send fails in time."""
    simulation = Simulation(components, {"max.block.ms": 3_000})
    simulation.cluster.settings.auto_create_topics_enable = creates
    meddler = Meddler(simulation)
    delivery = simulation.send(topic="new")
    assert simulation.run_until(lambda: delivery.is_done, 10_000)
    assert (delivery.error is None) is creates, f"{delivery.error}"
    named = [seen.body for seen in meddler.of(Api.METADATA) if seen.body.topics]
    assert named and all(body.allow_auto_topic_creation for body in named)


@client_property("MET-06", empty=st.integers(1, 3), partitions=st.integers(1, 3))
def an_answer_without_brokers_forgets_nothing(components: Components, empty: int, partitions: int) -> None:
    """A Metadata answer without brokers is a failure: the known metadata is still used, and it is requested again."""
    simulation = Simulation(components, {"metadata.max.age.ms": 1_000, "linger.ms": 0}, partitions=partitions)
    simulation.warm()
    left = [empty]

    def wiped(_: Seen, body: Any) -> Any:
        left[0] -= 1
        return replace(body, brokers=()) if left[0] >= 0 else body

    Meddler(simulation, {Api.METADATA: wiped})
    assert simulation.run_until(lambda: left[0] < empty, 5_000), "metadata is never requested again"
    simulation.run(5)
    sent = [simulation.send(partition=partition) for partition in range(partitions)]
    simulation.run(10)
    assert all(each.is_done and each.error is None for each in sent), "the known metadata is forgotten"
    assert simulation.run_until(lambda: left[0] < 0, 10_000), "a failure is not repeated"


@client_property(
    "MET-07", delay_ms=st.integers(5, 200), between_ms=st.integers(1, 4), topics=st.integers(2, 4)
)
def an_older_answer_is_none_about_a_newer_topic(
    components: Components, delay_ms: int, between_ms: int, topics: int
) -> None:
    """A topic that becomes wanted while a metadata request is in flight is included in the next request."""
    simulation = Simulation(components, {"max.block.ms": 3_000, "retry.backoff.ms": 10})
    simulation.warm()
    for number in range(topics):
        simulation.cluster.create_topic(f"new-{number}", 1)
    simulation.run(1_000)
    simulation.proxy().down.delay("prop", delay_ms * NS_PER_MS)
    sent = []
    for number in range(topics):
        sent.append(simulation.send(topic=f"new-{number}"))
        simulation.run(between_ms)
    assert simulation.run_until(lambda: all(each.is_done for each in sent), 10_000)
    assert [each.error for each in sent] == [None] * topics


@client_property(
    "PRD-CLS-05",
    count=st.integers(0, 4),
    again=st.integers(1, 3),
    timeout_ms=st.none() | st.integers(0, 5_000),
)
def a_closed_producer_stays_closed(
    components: Components, count: int, again: int, timeout_ms: int | None
) -> None:
    """close() ends every record, may be repeated, and leaves a producer that accepts no record."""
    simulation = Simulation(components, {"linger.ms": 60_000, "delivery.timeout.ms": 120_000})
    sent = [simulation.send() for _ in range(count)]
    simulation.run(1_000)
    for _ in range(again):
        assert simulation.close(timeout_ms), "close() does not return"
    assert all(each.is_done for each in sent), "a record has no result"
    assert timeout_ms == 0 or not any(each.error for each in sent)
    try:
        simulation.send()
    except IllegalStateError:
        return
    raise AssertionError("a closed producer accepted a record")
