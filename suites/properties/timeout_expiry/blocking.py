"""Blocked sends: max.block.ms limits both waits together.

Only it, a final answer or close() ends them with an error.
"""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from clients.reference.ports import ChannelState
from clients.reference.producer.producer import Components, ProducerCore
from clients.reference.producer.send_handle import Delivery
from clients.reference.telemetry.trace import SendUnblocked
from harness.simulated.scheduler import NS_PER_MS
from harness.wire.apis import Api
from suites.properties.property import client_property
from suites.properties.simulation import START_MS, TOPIC, Simulation
from suites.properties.state_transitions import wire
from suites.properties.timeout_expiry.clock import (
    LATE_MS,
    LAW,
    LONG_MS,
    TRIP_MS,
    ended_ms,
    happens_at,
    refuse_for_good,
    still_bench,
)

SILENT, REFUSED, NO_TOPIC, NO_PARTITION = "no answer", "no connection", "no topic", "no partition"
BATCH_BYTES, BATCHES = 1_000, 3
FULL = {"batch.size": BATCH_BYTES, "buffer.memory": BATCHES * BATCH_BYTES}
FILLING = b"x" * 800


@client_property(
    "MET-11",
    "MET-12",
    block_ms=st.integers(0, 5_000),
    why=st.sampled_from([SILENT, REFUSED, NO_TOPIC, NO_PARTITION]),
    gaps_ms=st.lists(st.integers(0, 500), max_size=3),
)
def no_send_waits_longer_for_metadata(
    components: Components, block_ms: int, why: str, gaps_ms: list[int]
) -> None:
    """A send without metadata fails at max.block.ms, with a callback and a message that names topic and limit."""
    simulation = still_bench(components, {"max.block.ms": block_ms})
    topic, partition = ("missing", None) if why is NO_TOPIC else (TOPIC, 7 if why is NO_PARTITION else None)
    if why is SILENT:
        simulation.proxy().down.silence(LAW)
    elif why is REFUSED:
        simulation.proxy().refuse(LAW)
    calls: list[int] = []
    begun: list[int] = []
    sent: list[Delivery] = []
    for gap_ms in [0, *gaps_ms]:
        simulation.run(gap_ms)
        begun.append(simulation.now_ms)
        sent.append(
            simulation.send(
                topic=topic, partition=partition, callback=lambda _, error: calls.append(simulation.now_ms)
            )
        )
    ended_ms(simulation, sent)
    assert len(calls) == len(sent)
    for since_ms, called_ms, delivery in zip(begun, calls, sent, strict=True):
        happens_at(called_ms, since_ms + block_ms, f"send ended for {why}")
        assert getattr(delivery.error, "name", "") == "REQUEST_TIMED_OUT"
        assert topic in str(delivery.error) and str(block_ms) in str(delivery.error)


@client_property(
    "MET-12", block_ms=st.integers(50, 3_000), grows_ms=st.integers(1, 4_000), backoff_ms=st.integers(1, 200)
)
def a_partition_that_appears_is_found(
    components: Components, block_ms: int, grows_ms: int, backoff_ms: int
) -> None:
    """A record for a missing partition keeps metadata fresh, and is sent once the partition exists."""
    settings = {"max.block.ms": block_ms, "retry.backoff.ms": backoff_ms, "retry.backoff.max.ms": backoff_ms}
    assume(not 0 <= block_ms - grows_ms <= 2 * backoff_ms + 2 * TRIP_MS)
    simulation = still_bench(components, settings)
    simulation.warm()
    begun_ms = simulation.now_ms
    delivery = simulation.send(partition=3)
    simulation.run(grows_ms)
    simulation.cluster.add_partitions(TOPIC, 4)
    [done_ms] = ended_ms(simulation, [delivery]) if not delivery.is_done else [begun_ms + block_ms]
    if grows_ms < block_ms:
        assert delivery.error is None, f"grown after {grows_ms} of {block_ms} ms, and {delivery.error}"
        assert done_ms <= begun_ms + grows_ms + 2 * backoff_ms + 3 * TRIP_MS
    else:
        assert delivery.error is not None


@client_property(
    "MET-13",
    name=st.sampled_from(["a b", "x" * 250, "..", "ä"]),
    block_ms=st.integers(500, 60_000),
    warm=st.booleans(),
)
def a_refused_topic_fails_at_once(components: Components, name: str, block_ms: int, warm: bool) -> None:
    """A topic name that brokers call invalid fails its send with their answer, and other topics are still written."""
    simulation = still_bench(components, {"max.block.ms": block_ms})
    if warm:
        simulation.warm()
    begun_ms = simulation.now_ms
    refused, good = simulation.send(topic=name), simulation.send()
    [refused_ms, _] = ended_ms(simulation, [refused, good])
    assert getattr(refused.error, "name", "") == "INVALID_TOPIC_EXCEPTION" and good.error is None
    assert refused_ms <= begun_ms + 2 * TRIP_MS, f"told {refused_ms - begun_ms} ms later"


def _fill(simulation: Simulation) -> list[Delivery]:
    """Fill all of buffer.memory with batches that brokers refuse again and again."""
    simulation.warm()
    refuse_for_good(simulation)
    return [simulation.send(FILLING) for _ in range(BATCHES)]


@client_property(
    "MET-14",
    "PRD-ACC-09",
    "MET-11",
    block_ms=st.integers(20, 3_000),
    answer_ms=st.integers(0, 4_000),
)
def one_limit_covers_both_waits(components: Components, block_ms: int, answer_ms: int) -> None:
    """Waiting for metadata counts towards the wait for memory: together they take max.block.ms."""
    assume(abs(answer_ms - block_ms) > TRIP_MS)
    simulation = still_bench(components, FULL | {"max.block.ms": block_ms})
    simulation.cluster.create_topic("other", 1)
    _fill(simulation)
    simulation.run(10)
    simulation.proxy().down.delay(LAW, answer_ms * NS_PER_MS)
    begun_ms = simulation.now_ms
    delivery = simulation.send(topic="other")
    [done_ms] = ended_ms(simulation, [delivery])
    happens_at(done_ms, begun_ms + block_ms, "send gave up")
    waits = [event.waited_for for event in simulation.told(SendUnblocked) if event.topic == "other"]
    assert waits == (["metadata", "memory"] if answer_ms < block_ms else ["metadata"])
    expected = "BufferExhaustedError" if answer_ms < block_ms else "TimeoutError"
    assert type(delivery.error).__name__ == expected


@client_property(
    "PRD-ACC-09",
    block_ms=st.integers(50, 3_000),
    gaps_ms=st.lists(st.integers(0, 400), min_size=1, max_size=4),
    frees_ms=st.integers(0, 4_000),
    large=st.booleans(),
)
def memory_is_waited_for_in_turn(
    components: Components, block_ms: int, gaps_ms: list[int], frees_ms: int, large: bool
) -> None:
    """Sends wait for memory in first-come, first-served order, each until its own limit."""
    settings = FULL | {"max.block.ms": block_ms, "retry.backoff.ms": 20, "retry.backoff.max.ms": 20}
    simulation = still_bench(components, settings)
    filling = _fill(simulation)
    calls: list[tuple[int, int]] = []
    begun, sent = [], []
    for number, gap_ms in enumerate(gaps_ms):
        simulation.run(gap_ms)
        begun.append(simulation.now_ms)
        told = lambda _, error, number=number: calls.append((number, simulation.now_ms))  # noqa: E731
        sent.append(simulation.send(FILLING * (2 if large and number == 0 else 1), callback=told))
    simulation.run(frees_ms)
    freed_ms = simulation.now_ms
    simulation.cluster.inject_error(Api.PRODUCE, 7, 0)
    ended_ms(simulation, sent + filling)
    assert all(each.error is None for each in filling)
    assert [number for number, _ in sorted(calls, key=lambda call: call[1])] == list(range(len(sent)))
    for number, called_ms in calls:
        delivery, limit_ms = sent[number], begun[number] + block_ms
        if delivery.error is not None:
            happens_at(called_ms, limit_ms, "send gave up")
            assert type(delivery.error).__name__ == "BufferExhaustedError"
        assert delivery.error is not None or limit_ms > freed_ms
        assert delivery.error is None or limit_ms <= freed_ms + len(filling) * (20 + 3 * TRIP_MS)


@client_property(
    "MET-16",
    "PRD-CLS-07",
    "MET-14",
    for_memory=st.booleans(),
    waits_ms=st.integers(0, 2_000),
    senders=st.integers(1, 4),
)
def close_releases_blocked_sends(
    components: Components, for_memory: bool, waits_ms: int, senders: int
) -> None:
    """close() ends every send that waits, for metadata or for memory, at once and with an error."""
    simulation = still_bench(components, FULL | {"max.block.ms": LONG_MS})
    if for_memory:
        _fill(simulation)
    else:
        simulation.proxy().down.silence(LAW)
    calls: list[int] = []
    sent = [
        simulation.send(FILLING, callback=lambda _, error: calls.append(simulation.now_ms))
        for _ in range(senders)
    ]
    simulation.run(waits_ms)
    assert not any(delivery.is_done for delivery in sent)
    closed_ms = simulation.now_ms
    simulation.core.close(closed_ms, 1_000)
    simulation.rounds()
    simulation.run(LATE_MS)
    assert calls == [closed_ms] * senders, f"{len(calls)} of {senders} were released"
    assert all(delivery.error for delivery in sent)


@client_property("MET-16", waits_ms=st.integers(0, 5_000), senders=st.integers(1, 3))
def refused_credentials_wake_who_waits(components: Components, waits_ms: int, senders: int) -> None:
    """A fatal metadata error ends at once the sends that wait for metadata."""
    network = wire.Wire()
    core = ProducerCore(wire.config(max_block_ms=LONG_MS), network, jitter=float, components=components)
    calls: list[str] = []
    for _ in range(senders):
        core.send(
            TOPIC,
            None,
            b"x",
            timestamp_ms=0,
            now_ms=START_MS,
            callback=lambda _, error: calls.append(getattr(error, "name", "")),
        )
    core.run_once(START_MS)
    [(node_id, _)] = network.connects
    core.run_once(START_MS + waits_ms)
    assert not calls
    network.ended(node_id, ChannelState.AUTHENTICATION_FAILED)
    core.run_once(START_MS + waits_ms)
    core.publish(START_MS + waits_ms)
    assert calls == ["SASL_AUTHENTICATION_FAILED"] * senders
