"""Batches that are too large for the broker: how they are split, and what the client learns from them."""

from __future__ import annotations

from hypothesis import strategies as st

from clients.reference.producer.producer import Components
from clients.reference.telemetry.trace import BatchSent, BatchSplit
from harness.model.dice import Dice
from harness.simulated.scheduler import NS_PER_MS
from harness.wire.records import Codec
from suites.properties.property import client_property, example
from suites.properties.simulation import TOPIC, Simulation
from suites.properties.state_transitions import wire

#: A batch with one such record is below the smallest limit, and one with two is below the largest.
LIMIT_BYTES = st.integers(260, 900)
SIZES = st.lists(st.integers(0, 100), min_size=2, max_size=20)
TOO_LARGE = "MESSAGE_TOO_LARGE"
BATCH_BYTES, HOPE = 2_000, 0.5


@client_property(
    "PRD-SPL-01",
    "PRD-SPL-06",
    "PRD-SND-13",
    limit_bytes=LIMIT_BYTES,
    sizes=SIZES,
    idempotent=st.booleans(),
    retries=st.sampled_from([1, 2**31 - 1]),
    delay_ms=st.integers(0, 50),
)
@example(limit_bytes=300, sizes=[100] * 8, idempotent=True, retries=1, delay_ms=20)
@example(limit_bytes=300, sizes=[100] * 8, idempotent=False, retries=1, delay_ms=20)
def a_batch_too_large_goes_in_parts(
    components: Components, limit_bytes: int, sizes: list[int], idempotent: bool, retries: int, delay_ms: int
) -> None:
    """A batch that the broker finds too large is stored in parts, in order, and flush() waits for all of them."""
    simulation = Simulation(
        components,
        {"batch.size": 16_384, "linger.ms": 20, "enable.idempotence": idempotent, "retries": retries}
        | {"max.in.flight.requests.per.connection": 1},
        topic_config={"max.message.bytes": str(limit_bytes)},
    )
    simulation.warm()
    simulation.proxy().down.delay("prop", delay_ms * NS_PER_MS)
    told: list[int] = []
    for number, size_bytes in enumerate(sizes):
        simulation.send(
            b"%03d" % number + bytes(size_bytes),
            callback=lambda _, error, n=number: told.append(n if error is None else -1),  # type: ignore[misc]
        )
    assert simulation.flush(60_000), "flush() does not return"
    assert told == list(range(len(sizes))), f"flush() returned after the callbacks of {told}"
    stored = [int((row.value or "")[:3]) for row in simulation.log()[1:]]
    assert stored == list(range(len(sizes)))


@client_property("PRD-SPL-02", size_bytes=st.integers(300, 2_000), others=st.integers(0, 4))
def a_record_too_large_fails_alone(components: Components, size_bytes: int, others: int) -> None:
    """A single record that the broker finds too large fails after one attempt, and its neighbours are stored."""
    simulation = Simulation(
        components, {"linger.ms": 20, "enable.idempotence": False}, topic_config={"max.message.bytes": "300"}
    )
    simulation.warm()
    sent = len(simulation.told(BatchSent))
    large = simulation.send(bytes(size_bytes))
    small = [simulation.send(b"small") for _ in range(others)]
    assert simulation.run_until(lambda: all(each.is_done for each in (large, *small)), 60_000)
    assert large.error is not None and large.error.name == TOO_LARGE
    assert [each.error for each in small] == [None] * others
    alone = [
        event
        for event in simulation.told(BatchSent)[sent:]
        if event.size_bytes > 300 and event.record_count == 1
    ]
    assert len(alone) == 1, f"{len(alone)} attempts of one record"
    assert bool(simulation.told(BatchSplit)) is bool(others)


@client_property(
    "PRD-SPL-05", ratios=st.lists(st.floats(0.05, 1.1), max_size=40), split_ratio=st.floats(0.05, 1.1)
)
def a_split_ends_the_hope_of_compression(
    components: Components, ratios: list[float], split_ratio: float
) -> None:
    """The estimate of compression falls slowly and rises at once, and after a split it is at least 1 again."""
    config = wire.config(compression_type="gzip")
    metadata = components.metadata(config, float, lambda event: None)
    made = components.accumulator(config, metadata, None, float, lambda event: None, components.batch)
    estimator = type(made.estimator)(Codec.GZIP)
    for ratio in ratios:
        before = estimator.estimation(TOPIC)
        estimator.observed(TOPIC, ratio)
        after = estimator.estimation(TOPIC)
        assert after >= before - 0.005 - 1e-9 and (after >= ratio or ratio <= before)
    estimator.was_split(TOPIC, split_ratio)
    assert estimator.estimation(TOPIC) >= max(1.0, split_ratio)
    assert estimator.growth(TOPIC) >= 1.0


@client_property("PRD-SPL-06", limit_bytes=LIMIT_BYTES, sizes=SIZES, delay_ms=st.integers(5, 50))
@example(limit_bytes=300, sizes=[100] * 6, delay_ms=20)
def futures_of_a_split_batch_wait_for_their_parts(
    components: Components, limit_bytes: int, sizes: list[int], delay_ms: int
) -> None:
    """A record of a split batch is done when its own part has ended, not before, and knows its own place."""
    simulation = Simulation(
        components,
        {"linger.ms": 20, "max.in.flight.requests.per.connection": 1},
        topic_config={"max.message.bytes": str(limit_bytes)},
    )
    simulation.warm()
    simulation.proxy().down.delay("prop", delay_ms * NS_PER_MS)
    sent = [simulation.send(b"%03d" % number + bytes(size_bytes)) for number, size_bytes in enumerate(sizes)]
    for _ in range(60_000):
        stored = [int((row.value or "")[:3]) for row in simulation.log()[1:]]
        done = [number for number, each in enumerate(sent) if each.is_done]
        assert set(done) <= set(stored), f"done are {done}, stored {stored}"
        if len(done) == len(sent):
            break
        simulation.run(1)
    assert [each.metadata.offset for each in sent] == list(range(1, 1 + len(sent)))


@client_property("PRD-SPL-05", size_bytes=st.integers(60, 120), share=st.integers(25, 50))
@example(size_bytes=100, share=40)
def batches_are_smaller_after_a_split(components: Components, size_bytes: int, share: int) -> None:
    """After a split no batch is filled beyond batch.size in the expectation that it will compress."""
    settings = {
        "compression.type": "gzip",
        "batch.size": BATCH_BYTES,
        "linger.ms": 5,
        "max.in.flight.requests.per.connection": 1,
    }
    simulation = Simulation(components, settings, topic_config={"max.message.bytes": str(BATCH_BYTES)})
    simulation.warm()
    estimator = simulation.core._accumulator.estimator
    while estimator.estimation(TOPIC) > HOPE:
        estimator.observed(TOPIC, 0.1)
    dice = Dice(size_bytes * 100 + share, "prop")

    def send(count: int) -> None:
        for _ in range(count):
            noise = bytes(dice.between(0, 255) for _ in range(size_bytes))
            simulation.send(noise + bytes(size_bytes * share // 100))

    send(60)
    assert simulation.flush(60_000)
    assert simulation.told(BatchSplit), "nothing was split"
    seen = len(simulation.told(BatchSent))
    send(60)
    assert simulation.flush(60_000)
    later = [event.uncompressed_bytes for event in simulation.told(BatchSent)[seen:]]
    assert later and max(later) <= BATCH_BYTES, f"batches of {later} bytes, batch.size is {BATCH_BYTES}"
