"""Batches that are too large for a broker: their parts have the same records, in order, and the age of the whole."""

from __future__ import annotations

from hypothesis import strategies as st

from clients.reference.errors import SendError
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch, ProducerId
from clients.reference.producer.record_accumulator import RecordAccumulator
from harness.model.verdicts import Outcome
from harness.wire.records import increment_sequence, read_batches
from suites.properties.property import client_property
from suites.properties.state_transitions.accumulator import DELIVERY_TIMEOUT_MS, NODES, TOPIC, World, outgoing

BATCH_BYTES = 1_000
IDENTITY = ProducerId(7, 3)
RECORDS = st.lists(st.sampled_from([0, 20, 100, 300]), min_size=2, max_size=12)


def drained(
    components: Components, sizes: list[int], told: list[int], attempts: int
) -> tuple[RecordAccumulator, ProducerBatch]:
    """Return an accumulator and its batch of records of these sizes, in flight for the attempt ``attempts``."""
    world = World(components)
    accumulator = world.make(
        batch_size=BATCH_BYTES, buffer_memory=10_000, max_request_size=10_000, linger_ms=0
    )
    world.lead({0: NODES[0]}, 0, 0)
    batch = None
    for number, size_bytes in enumerate(sizes):
        record = outgoing(0, number, size_bytes)
        record.callback = lambda _, error, number=number: told.append(number)
        appended = accumulator.append(record, (TOPIC, 0), 0)
        if appended is None or batch not in (None, appended.batch):
            break
        batch = appended.batch
    assert batch is not None
    now_ms = 0
    for _ in range(attempts):
        assert accumulator.drain([NODES[0]], now_ms)[NODES[0]][0] is batch
        accumulator.reenqueue(batch, now_ms)
        now_ms = batch.retry_at_ms
    accumulator.drain([NODES[0]], now_ms)
    return accumulator, batch


def values(batch: ProducerBatch) -> list[int]:
    """Return the numbers of a batch's records."""
    [read] = read_batches(batch.payload())
    return [int((record.value or b"")[:6]) for record in read.records]


@client_property(
    "PRD-SPL-01",
    "PRD-SPL-03",
    "PRD-SPL-04",
    "PRD-SPL-06",
    "PRD-ACC-11",
    sizes=RECORDS,
    attempts=st.integers(0, 2),
    base_sequence=st.sampled_from([0, 5, 2**31 - 3]),
    since_ms=st.integers(0, 1_000),
    stored=st.booleans(),
)
def a_split_batch_lives_on_in_its_parts(
    components: Components, sizes: list[int], attempts: int, base_sequence: int, since_ms: int, stored: bool
) -> None:
    """The parts have the records in order, and the whole's time, attempts and numbers. Each caller is told once."""
    told: list[int] = []
    accumulator, whole = drained(components, sizes, told, attempts)
    if whole.record_count < 2:
        return
    whole.assign_sequence(IDENTITY, base_sequence)
    expected, now_ms = values(whole), whole.retry_at_ms + since_ms
    size_bytes, is_last = whole.size_bytes, accumulator.queued()
    parts = accumulator.split_and_reenqueue(whole, now_ms)
    accumulator.release(whole)
    assert whole.state.value == "SPLIT" and not whole.is_done
    assert len(parts) >= 2 and accumulator.queued() == parts + is_last, "the parts come first, in order"
    assert [number for part in parts for number in values(part)] == expected
    due = base_sequence
    for part in parts:
        assert part.size_bytes < size_bytes, "a part is as large as the whole was"
        assert part.attempts == attempts, "a split is no retry"
        assert (part.created_ms, part.expires_ms) == (
            whole.created_ms,
            whole.created_ms + DELIVERY_TIMEOUT_MS,
        )
        assert (part.producer_id, part.base_sequence) == (IDENTITY, due)
        due = increment_sequence(due, part.record_count)
    assert not whole.is_published
    for part in parts:
        [[found]] = accumulator.drain([NODES[0]], now_ms).values()
        assert found is part, "a part was overtaken"
        if stored:
            part.succeed(0, -1, now_ms)
        else:
            part.fail(SendError("batch-rejected", "no", outcome=Outcome.FAIL), now_ms)
        accumulator.release(part)
        part.publish(lambda raised: None)
        assert whole.is_published is (part is parts[-1]), "the whole ends with the last of its parts"
    assert told == expected, f"told {told}"
    lent = sum(batch.grant.size_bytes for batch in is_last if batch.grant)
    assert accumulator.pool.available_bytes == accumulator.pool.total_bytes - lent
