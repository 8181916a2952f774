"""When batches are sent: linger and what cuts it short, the backoff of retries, and unknown leaders."""

from __future__ import annotations

from hypothesis import assume
from hypothesis import strategies as st

from clients.reference.producer.producer import Components
from clients.reference.telemetry.trace import (
    BatchClosed,
    BatchExpired,
    BatchRetried,
    BatchSent,
    BatchSplit,
    MetadataUpdated,
)
from harness.wire.apis import Api
from suites.properties.property import client_property, example
from suites.properties.simulation import TOPIC, Simulation
from suites.properties.timeout_expiry.clock import (
    JITTER,
    LATE_MS,
    LAW,
    LONG_MS,
    TRIP_MS,
    delay_ms,
    ended_ms,
    happens_at,
    nothing_raised,
    sent_ms,
    still_bench,
    times,
)

FULL, SECOND, LINGER, MEMORY, FLUSH, CLOSE = "full", "second", "linger", "memory", "flush", "close"
IN_FLIGHT, BACKING_OFF, NO_LEADER = "muted", "backing off", "no leader"


def _pull(simulation: Simulation, trigger: str) -> None:
    """Do what makes the open batch sendable."""
    if trigger == FULL:
        simulation.send(b"x" * 950, partition=0)
    elif trigger == SECOND:
        simulation.send(b"x" * 600, partition=0)
        simulation.send(b"x" * 600, partition=0)
    elif trigger == MEMORY:
        for partition in (1, 2):
            simulation.send(b"x" * 10, partition=partition)
    elif trigger == FLUSH:
        simulation.core.begin_flush()
    elif trigger == CLOSE:
        simulation.core.close(simulation.now_ms)
    simulation.rounds()


@client_property(
    "PRD-ACC-02",
    "PRD-ACC-03",
    trigger=st.sampled_from([FULL, SECOND, LINGER, MEMORY, FLUSH, CLOSE]),
    linger_ms=st.integers(50, 5_000),
    after_ms=st.integers(0, 4_000),
)
@example(trigger=FULL, linger_ms=1_000, after_ms=100)
@example(trigger=SECOND, linger_ms=1_000, after_ms=100)
@example(trigger=LINGER, linger_ms=1_000, after_ms=100)
@example(trigger=MEMORY, linger_ms=1_000, after_ms=100)
@example(trigger=FLUSH, linger_ms=1_000, after_ms=100)
@example(trigger=CLOSE, linger_ms=1_000, after_ms=100)
def each_reason_makes_a_batch_sendable(
    components: Components, trigger: str, linger_ms: int, after_ms: int
) -> None:
    """A batch is sent when it is full, followed by another, past its linger, or requested by memory, flush or close."""
    assume(after_ms < linger_ms - 2 * TRIP_MS)
    settings = {"linger.ms": linger_ms, "batch.size": 1_000, "buffer.memory": 2_000}
    simulation = still_bench(components, settings, partitions=3)
    simulation.warm(partition=2)
    created_ms = simulation.now_ms
    delivery = simulation.send(b"x", partition=0)
    simulation.run(after_ms)
    assert not sent_ms(simulation), "sent before there was a reason"
    pulled_ms = simulation.now_ms if trigger is not LINGER else created_ms + linger_ms
    _pull(simulation, trigger)
    ended_ms(simulation, [delivery], 2 * linger_ms + 1_000)
    assert delivery.error is None
    happens_at(sent_ms(simulation)[0], pulled_ms, f"the batch was sent for {trigger}")


@client_property(
    "PRD-ACC-02", reason=st.sampled_from([IN_FLIGHT, BACKING_OFF, NO_LEADER]), wait_ms=st.integers(10, 2_000)
)
@example(reason=IN_FLIGHT, wait_ms=500)
@example(reason=BACKING_OFF, wait_ms=500)
@example(reason=NO_LEADER, wait_ms=500)
def what_must_wait_waits(components: Components, reason: str, wait_ms: int) -> None:
    """A full batch waits while its partition is muted, backs off, or has no leader, and is sent afterwards."""
    settings = {
        "max.in.flight.requests.per.connection": 1,
        "retry.backoff.ms": wait_ms,
        "retry.backoff.max.ms": wait_ms,
        "enable.idempotence": False,
        "reconnect.backoff.ms": 10,
        "metadata.max.age.ms": 50,
    }
    simulation = still_bench(components, settings, nodes=2, partitions=2, replication_factor=1)
    simulation.warm(partition=0)
    leader, _ = simulation.cluster.leader(TOPIC, 0)
    sent, begun_ms = len(simulation.told(BatchSent)), simulation.now_ms
    if reason is NO_LEADER:
        simulation.cluster.kill(leader, simulation.scheduler.now_ns)
        simulation.proxy(leader).cut()
        simulation.run(2 * wait_ms + 200)
        begun_ms = simulation.now_ms
        deliveries = [simulation.send(partition=0)]
    elif reason is IN_FLIGHT:
        simulation.proxy(leader).down.delay(LAW, wait_ms * 1_000_000)
        deliveries = [simulation.send(partition=0)]
        simulation.run(1)
        deliveries.append(simulation.send(partition=0))
    else:
        simulation.cluster.inject_error(Api.PRODUCE, 7, 1)
        deliveries = [simulation.send(partition=0)]
    simulation.run(begun_ms + wait_ms - TRIP_MS - simulation.now_ms)
    went = len(simulation.told(BatchSent)) - sent
    assert went == (0 if reason is NO_LEADER else 1), f"{went} attempts while {reason}"
    simulation.cluster.restart(leader, simulation.scheduler.now_ns)
    ended_ms(simulation, deliveries, 5 * wait_ms + 5_000)
    assert all(each.error is None for each in deliveries)
    if reason is not NO_LEADER:
        happens_at(
            times(simulation, BatchSent)[sent + 1],
            begun_ms + wait_ms,
            "the batch was sent",
            TRIP_MS + LATE_MS,
        )


@client_property(
    "PRD-ACC-03",
    linger_ms=st.integers(0, 3_000),
    gaps_ms=st.lists(st.integers(0, 500), min_size=1, max_size=8),
)
def a_batch_lingers_and_then_goes(components: Components, linger_ms: int, gaps_ms: list[int]) -> None:
    """A batch that is not full is sent linger.ms after its first record, with all records added meanwhile."""
    simulation = still_bench(components, {"linger.ms": linger_ms})
    simulation.warm()
    expected: list[tuple[int, int]] = []
    deliveries = []
    for gap_ms in gaps_ms:
        simulation.run(gap_ms)
        if expected and simulation.now_ms < expected[-1][0] + linger_ms:
            expected[-1] = expected[-1][0], expected[-1][1] + 1
        else:
            expected.append((simulation.now_ms, 1))
        deliveries.append(simulation.send())
        if not linger_ms:
            simulation.rounds()
    ended_ms(simulation, deliveries)
    sent = simulation.told(BatchSent)[1:]
    assert [event.record_count for event in sent] == [count for _, count in expected]
    for event, (created_ms, _) in zip(sent, expected, strict=True):
        happens_at(event.at_ms, created_ms + linger_ms, "the batch was sent")
    assert linger_ms == 0 or {event.reason for event in simulation.told(BatchClosed)[1:]} == {"linger"}


@client_property(
    "PRD-ACC-04",
    base_ms=st.integers(0, 300),
    max_ms=st.integers(0, 2_000),
    jitter=JITTER,
    failures=st.integers(1, 7),
    idempotent=st.booleans(),
    linger_ms=st.integers(0, 500),
)
def a_retry_waits_its_backoff(
    components: Components,
    base_ms: int,
    max_ms: int,
    jitter: float,
    failures: int,
    idempotent: bool,
    linger_ms: int,
) -> None:
    """A refused batch is sent again after its doubling backoff, not after its linger, and before younger batches."""
    settings = {
        "retry.backoff.ms": base_ms,
        "retry.backoff.max.ms": max_ms,
        "enable.idempotence": idempotent,
        "max.in.flight.requests.per.connection": 1,
        "linger.ms": linger_ms,
    }
    simulation = still_bench(components, settings, partitions=2, jitter=jitter)
    simulation.warm(partition=0)
    simulation.cluster.inject_error(Api.PRODUCE, 7, failures, partition=0)
    first = simulation.send(b"first", partition=0)
    simulation.run_until(lambda: bool(simulation.told(BatchRetried)), LONG_MS)
    second, beside = simulation.send(b"second", partition=0), simulation.send(b"beside", partition=1)
    ended_ms(simulation, [first, second, beside])
    assert first.error is None and second.error is None
    retried = simulation.told(BatchRetried)
    sent = [event for event in simulation.told(BatchSent)[1:] if event.batch.startswith(f"{TOPIC}-0#")]
    assert len(retried) == failures and len({event.batch for event in sent[: failures + 1]}) == 1
    for earlier, (refused, again) in enumerate(zip(retried, sent[1:], strict=False)):
        due_ms = refused.at_ms + delay_ms(base_ms, max_ms, earlier, jitter)
        happens_at(again.at_ms, due_ms, f"attempt {earlier + 2} was sent")
    assert [record.value for record in simulation.log() if record.partition == 0][1:] == ["first", "second"]


@client_property(
    "PRD-ACC-07",
    "MET-02",
    down_ms=st.integers(0, 3_000),
    delivery_ms=st.integers(300, 3_000),
    backoff_ms=st.integers(40, 200),
)
def a_batch_without_a_leader_waits_and_ages(
    components: Components, down_ms: int, delivery_ms: int, backoff_ms: int
) -> None:
    """If a partition has no leader, its batches wait and age, and metadata is requested again and again."""
    settings = {
        "delivery.timeout.ms": delivery_ms,
        "request.timeout.ms": 200,
        "retry.backoff.ms": backoff_ms,
        "retry.backoff.max.ms": backoff_ms,
        "reconnect.backoff.ms": 10,
        "reconnect.backoff.max.ms": 10,
    }
    assume(abs(down_ms - delivery_ms) > 2 * backoff_ms + 50)
    simulation = still_bench(components, settings, nodes=2, partitions=2, replication_factor=1)
    simulation.warm(partition=0)
    leader, _ = simulation.cluster.leader(TOPIC, 0)
    simulation.cluster.kill(leader, simulation.scheduler.now_ns)
    simulation.proxy(leader).cut()
    simulation.run(1_000)
    updates = len(simulation.told(MetadataUpdated))
    begun_ms = simulation.now_ms
    delivery = simulation.send(partition=0)
    other = simulation.send(partition=1)
    simulation.run(down_ms)
    asked = len(simulation.told(MetadataUpdated)) - updates
    lasted_ms = min(down_ms, delivery_ms)
    rounds = lasted_ms // (backoff_ms + 2 * TRIP_MS)
    assert asked >= max(rounds // 2 - 1, min(rounds // 3, 1)), f"asked {asked} times in {lasted_ms} ms"
    assert asked <= down_ms // backoff_ms + 2, f"asked {asked} times in {down_ms} ms"
    simulation.cluster.restart(leader, simulation.scheduler.now_ns)
    ended_ms(simulation, [delivery, other])
    assert other.error is None
    if down_ms < delivery_ms:
        assert delivery.error is None
    else:
        [expired] = simulation.told(BatchExpired)
        happens_at(expired.at_ms, begun_ms + delivery_ms, "the batch expired")


@client_property("PRD-ACC-07", down_ms=st.integers(6_000, 12_000), records=st.integers(1, 3))
def a_leaderless_topic_is_asked_for_until_it_is_led(
    components: Components, down_ms: int, records: int
) -> None:
    """A batch without a leader keeps its topic in the metadata requests, even if the application is idle."""
    settings = {
        "metadata.max.idle.ms": 5_000,
        "metadata.max.age.ms": 500,
        "request.timeout.ms": 200,
        "delivery.timeout.ms": 30_000,
        "reconnect.backoff.ms": 10,
        "reconnect.backoff.max.ms": 10,
    }
    simulation = still_bench(components, settings, nodes=2, partitions=2, replication_factor=1)
    simulation.warm(partition=0)
    leader, _ = simulation.cluster.leader(TOPIC, 0)
    simulation.cluster.kill(leader, simulation.scheduler.now_ns)
    simulation.proxy(leader).cut()
    simulation.run(1_000)
    deliveries = [simulation.send(partition=0) for _ in range(records)]
    simulation.run(down_ms)
    assert not any(each.is_done for each in deliveries), "a batch without a leader does not stay"
    simulation.cluster.restart(leader, simulation.scheduler.now_ns)
    ended_ms(simulation, deliveries)
    assert [each.error for each in deliveries] == [None] * records


@client_property("PRD-SPL-03", retries=st.integers(0, 2), records=st.integers(2, 8), heals=st.booleans())
def a_split_is_no_retry_and_no_second_life(
    components: Components, retries: int, records: int, heals: bool
) -> None:
    """A split uses no retry, its parts expire when the whole would have, and an expired batch is not split."""
    settings = {
        "retries": retries,
        "enable.idempotence": False,
        "linger.ms": 20,
        "request.timeout.ms": 500,
        "delivery.timeout.ms": 1_000,
        "retry.backoff.ms": 5,
        "retry.backoff.max.ms": 5,
        "max.in.flight.requests.per.connection": 1,
    }
    simulation = still_bench(components, settings)
    simulation.warm()
    simulation.cluster.alter_config(TOPIC, {"max.message.bytes": "300"})
    simulation.proxy().down.delay(LAW, 200_000_000)
    created_ms = simulation.now_ms
    deliveries = [simulation.send(b"x" * 150) for _ in range(records)]
    simulation.run_until(lambda: bool(simulation.told(BatchSplit)), 900)
    assert simulation.told(BatchSplit), "not split"
    simulation.proxy().down.restore(LAW)
    if heals:
        simulation.cluster.inject_error(Api.PRODUCE, 7, retries)
    else:
        simulation.proxy().down.silence(LAW)
    ends = ended_ms(simulation, deliveries)
    if heals:
        assert all(each.error is None for each in deliveries), deliveries[0].error
        assert len(simulation.told(BatchRetried)) == retries
    else:
        for end_ms in ends:
            assert end_ms <= created_ms + 1_000 + 1 + LATE_MS, (
                f"ended {end_ms - created_ms} ms after its creation"
            )


@client_property("PRD-SPL-03", "PRD-EXP-03", wait_ms=st.integers(0, 400), answer_ms=st.integers(500, 900))
def an_expired_batch_is_not_split(components: Components, wait_ms: int, answer_ms: int) -> None:
    """MESSAGE_TOO_LARGE for a batch that has expired meanwhile has no effect."""
    settings = {
        "delivery.timeout.ms": 1_000,
        "request.timeout.ms": 1_000,
        "reconnect.backoff.ms": 600,
        "reconnect.backoff.max.ms": 600,
        "enable.idempotence": False,
    }
    simulation = still_bench(components, settings)
    simulation.warm()
    simulation.run(2_000)
    simulation.cluster.alter_config(TOPIC, {"max.message.bytes": "300"})
    simulation.proxy().cut()
    simulation.run(wait_ms // 4)
    begun_ms = simulation.now_ms
    deliveries = [simulation.send(b"x" * 150) for _ in range(4)]
    simulation.run_until(lambda: bool(sent_ms(simulation)), 900)
    simulation.proxy().down.delay(LAW, answer_ms * 1_000_000)
    assume(simulation.now_ms + answer_ms > begun_ms + 1_000 + TRIP_MS)
    for end_ms in ended_ms(simulation, deliveries):
        happens_at(end_ms, begun_ms + 1_000, "expired")
    simulation.run(2_000)
    assert not simulation.told(BatchSplit) and len(sent_ms(simulation)) == 1
    nothing_raised(simulation)
