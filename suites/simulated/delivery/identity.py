"""An idempotent producer's identity and numbers where they come to an end, or brokers know nothing of them."""

from __future__ import annotations

from hypothesis import strategies as st

from clients.reference.producer import Components
from clients.reference.producer_batch import ProducerBatch, ProducerId
from clients.reference.trace import BatchSent, ProducerIdAssigned
from harness.simulated.scheduler import NS_PER_MS
from harness.wire.apis import Api
from harness.wire.records import BatchBuilder
from suites.simulated.bench import Bench
from suites.simulated.law import example, law
from suites.simulated.state_transitions import wire

ROUND, OUT_OF_ORDER, INVALID_RECORD, NOT_ENOUGH_REPLICAS = 2**31, 45, 87, 19
ROUND_TRIP_MS = 50


def batch_of(components: Components, number: int, records: int) -> ProducerBatch:
    """A batch that is about to be drained for the first time."""
    batch = components.batch(("t", 0), number, BatchBuilder(), None, 1_000, 0, lambda event: None, 10_000)
    for _ in range(records):
        batch.append(0, None, b"", (), None)
    batch.close(0)
    return batch


@law(
    "PRD-IDM-02",
    left=st.integers(1, 12),
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=8),
)
@example(left=3, counts=[2, 2, 2])
def sequence_numbers_go_round(components: Components, left: int, counts: list[int]) -> None:
    """Numbers count on by records from batch to batch, and after 2147483647 comes 0."""
    manager = components.transaction_manager(wire.config(), float, lambda event: None)
    manager.producer_id = ProducerId(7, 0)
    first = batch_of(components, 1, 1)
    manager.assign_sequence(first, 0)
    assert first.base_sequence == 0
    sequences = manager._entry(("t", 0))
    sequences.next_sequence = due = ROUND - left
    for number, count in enumerate(counts, 2):
        batch = batch_of(components, number, count)
        manager.assign_sequence(batch, 0)
        assert batch.base_sequence == due, f"batch {number} from {batch.base_sequence}, {due} was due"
        due = (due + count) % ROUND


@law("PRD-IDM-09", "PRD-IDM-14", before=st.integers(1, 5), count=st.integers(1, 5))
def a_broken_chain_begins_anew(components: Components, before: int, count: int) -> None:
    """What comes next and is refused as out of order goes again from 0 under the next epoch, and nothing fails."""
    bench = Bench(components, {"linger.ms": 2})
    for _ in range(before):
        bench.warm()
    bench.cluster.inject_error(Api.PRODUCE, OUT_OF_ORDER, 1)
    sent = [bench.send(b"%d" % number) for number in range(count)]
    assert bench.run_until(lambda: all(each.is_done for each in sent), 60_000)
    assert [each.error for each in sent] == [None] * count
    last = bench.told(BatchSent)[-1]
    assert (last.producer_epoch, last.base_sequence) == (1, 0)
    assert [row.value for row in bench.log()][before:] == [str(number) for number in range(count)]


@law("PRD-IDM-03", "PRD-IDM-10", gap_ms=st.integers(2, 20), count=st.integers(1, 4))
def what_may_be_stored_keeps_its_numbers(components: Components, gap_ms: int, count: int) -> None:
    """A batch that may be stored goes again under its own numbers, also where an earlier one broke the chain."""
    bench = Bench(components, {"linger.ms": 0, "reconnect.backoff.ms": 10})
    bench.warm()
    bench.cluster.expire_producers(bench.scheduler.now_ns)
    bench.cluster.inject_error(Api.PRODUCE, INVALID_RECORD, 1)
    bench.proxy().down.delay("law", ROUND_TRIP_MS * NS_PER_MS)
    refused = bench.send(b"refused")
    bench.run(gap_ms)
    sent = [bench.send(b"%d" % number) for number in range(count)]
    assert bench.run_until(lambda: refused.is_done, 60_000)
    bench.proxy().cut()
    bench.proxy().down.restore("law")
    assert bench.run_until(lambda: all(each.is_done for each in sent), 60_000)
    assert refused.error is not None and [each.error for each in sent] == [None] * count
    assert [row.value for row in bench.log()][1:] == [str(number) for number in range(count)]


@law(
    "PRD-IDM-07", "PRD-SND-14", gap_ms=st.integers(2, 20), count=st.integers(1, 4), refusals=st.integers(1, 3)
)
def the_first_of_a_chain_goes_alone(components: Components, gap_ms: int, count: int, refusals: int) -> None:
    """A broker takes any number from a producer that it does not know: so no batch goes beside the first."""
    bench = Bench(components, {"linger.ms": 0}, partitions=2)
    bench.warm(partition=0)
    bench.cluster.inject_error(Api.PRODUCE, NOT_ENOUGH_REPLICAS, refusals, 1)
    bench.proxy().down.delay("law", ROUND_TRIP_MS * NS_PER_MS)
    sent = []
    for number in range(1 + count):
        sent.append(bench.send(b"%d" % number, partition=1))
        bench.run(gap_ms)
    assert bench.run_until(lambda: all(each.is_done for each in sent), 60_000)
    assert [each.error for each in sent] == [None] * len(sent)
    stored = [row.value for row in bench.log() if row.partition == 1]
    assert stored == [str(number) for number in range(1 + count)]


@law("PRD-IDM-15", before=st.integers(1, 6), count=st.integers(1, 6))
def a_forgotten_producer_goes_on(components: Components, before: int, count: int) -> None:
    """Where brokers have forgotten an idle producer, it goes on with its next number, and loses nothing."""
    bench = Bench(components)
    for _ in range(before):
        bench.warm()
    bench.cluster.expire_producers(bench.scheduler.now_ns)
    for _ in range(count):
        bench.warm()
    assert len(bench.log()) == before + count
    assert len(bench.told(ProducerIdAssigned)) == 1
    assert [sent.base_sequence for sent in bench.told(BatchSent)] == list(range(before + count))
