"""The identity and sequence numbers of an idempotent producer when they run out or brokers have forgotten them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from kio.schema.errors import ErrorCode

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch, ProducerId
from clients.reference.telemetry.trace import BatchEnded, BatchRetried, BatchSent, ProducerIdAssigned
from harness.simulated.scheduler import NS_PER_MS
from harness.wire.apis import Api
from harness.wire.messages import decode_response, encode_request
from harness.wire.records import BatchBuilder, read_batches, restamp
from suites.properties.delivery.response_editing import SIZE_BYTES, Meddler, Seen
from suites.properties.property import client_property, example
from suites.properties.simulation import TOPIC, Simulation
from suites.properties.state_transitions import wire

ROUND, OUT_OF_ORDER, UNKNOWN_PRODUCER, INVALID_RECORD, NOT_ENOUGH_REPLICAS = 2**31, 45, 59, 87, 19
#: CLUSTER_AUTHORIZATION_FAILED and TRANSACTIONAL_ID_AUTHORIZATION_FAILED.
REFUSALS = (31, 53)
ROUND_TRIP_MS = 50
IDLE_MS = st.sampled_from([0, 1_000, 700_000])
NO_LOG_START = -1


def batch_of(components: Components, number: int, records: int) -> ProducerBatch:
    """Return a batch that is about to be drained for the first time."""
    batch = components.batch(("t", 0), number, BatchBuilder(), None, 1_000, 0, lambda event: None, 10_000)
    for _ in range(records):
        batch.append(0, None, b"", (), None)
    batch.close(0)
    return batch


@client_property(
    "PRD-IDM-02",
    left=st.integers(1, 12),
    counts=st.lists(st.integers(1, 5), min_size=1, max_size=8),
)
@example(left=3, counts=[2, 2, 2])
def sequence_numbers_go_round(components: Components, left: int, counts: list[int]) -> None:
    """Numbers continue by records from batch to batch, and wrap from 2147483647 to 0."""
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
        assert batch.base_sequence == due, f"batch {number} from {batch.base_sequence}, expected {due}"
        due = (due + count) % ROUND


@client_property("PRD-IDM-09", "PRD-IDM-14", before=st.integers(1, 5), count=st.integers(1, 5))
def a_broken_chain_begins_anew(components: Components, before: int, count: int) -> None:
    """The next expected batch, refused as out of order, is resent from 0 under the next epoch, and nothing fails."""
    simulation = Simulation(components, {"linger.ms": 2})
    for _ in range(before):
        simulation.warm()
    simulation.cluster.inject_error(Api.PRODUCE, OUT_OF_ORDER, 1)
    sent = [simulation.send(b"%d" % number) for number in range(count)]
    assert simulation.run_until(lambda: all(each.is_done for each in sent), 60_000)
    assert [each.error for each in sent] == [None] * count
    last = simulation.told(BatchSent)[-1]
    assert (last.producer_epoch, last.base_sequence) == (1, 0)
    assert [row.value for row in simulation.log()][before:] == [str(number) for number in range(count)]


@client_property(
    "PRD-IDM-01", code=st.sampled_from(REFUSALS), refusals=st.integers(1, 3), count=st.integers(1, 4)
)
def a_refused_identity_is_asked_for_again(
    components: Components, code: int, refusals: int, count: int
) -> None:
    """If the broker refuses a producer id, waiting records fail. The producer asks again, and later records pass."""
    simulation = Simulation(components, {"linger.ms": 2})
    simulation.cluster.inject_error(Api.INIT_PRODUCER_ID, code, refusals)
    for _ in range(refusals):
        refused = [simulation.send(b"refused") for _ in range(count)]
        assert simulation.run_until(lambda: all(each.is_done for each in refused), 60_000)  # noqa: B023
        assert {each.error.name for each in refused if each.error} == {ErrorCode(code).name.upper()}
        assert all(each.error for each in refused)
    sent = [simulation.send(b"%d" % number) for number in range(count)]
    assert simulation.run_until(lambda: all(each.is_done for each in sent), 60_000)
    assert [each.error for each in sent] == [None] * count
    assert [row.value for row in simulation.log()] == [str(number) for number in range(count)]


@client_property("PRD-IDM-03", "PRD-IDM-10", gap_ms=st.integers(2, 20), count=st.integers(1, 4))
def what_may_be_stored_keeps_its_numbers(components: Components, gap_ms: int, count: int) -> None:
    """A batch that may be stored is sent again with its own numbers, even if an earlier batch broke the chain."""
    simulation = Simulation(components, {"linger.ms": 0, "reconnect.backoff.ms": 10})
    simulation.warm()
    simulation.cluster.expire_producers(simulation.scheduler.now_ns)
    simulation.cluster.inject_error(Api.PRODUCE, INVALID_RECORD, 1)
    simulation.proxy().down.delay("prop", ROUND_TRIP_MS * NS_PER_MS)
    refused = simulation.send(b"refused")
    simulation.run(gap_ms)
    sent = [simulation.send(b"%d" % number) for number in range(count)]
    assert simulation.run_until(lambda: refused.is_done, 60_000)
    simulation.proxy().cut()
    simulation.proxy().down.restore("prop")
    assert simulation.run_until(lambda: all(each.is_done for each in sent), 60_000)
    assert refused.error is not None and [each.error for each in sent] == [None] * count
    assert [row.value for row in simulation.log()][1:] == [str(number) for number in range(count)]


@client_property(
    "PRD-IDM-07", "PRD-SND-14", gap_ms=st.integers(2, 20), count=st.integers(1, 4), refusals=st.integers(1, 3)
)
def the_first_of_a_chain_goes_alone(components: Components, gap_ms: int, count: int, refusals: int) -> None:
    """No batch is sent beside the first, because a broker accepts any number from a producer that it does not know."""
    simulation = Simulation(components, {"linger.ms": 0}, partitions=2)
    simulation.warm(partition=0)
    simulation.cluster.inject_error(Api.PRODUCE, NOT_ENOUGH_REPLICAS, refusals, 1)
    simulation.proxy().down.delay("prop", ROUND_TRIP_MS * NS_PER_MS)
    sent = []
    for number in range(1 + count):
        sent.append(simulation.send(b"%d" % number, partition=1))
        simulation.run(gap_ms)
    assert simulation.run_until(lambda: all(each.is_done for each in sent), 60_000)
    assert [each.error for each in sent] == [None] * len(sent)
    stored = [row.value for row in simulation.log() if row.partition == 1]
    assert stored == [str(number) for number in range(1 + count)]


@client_property("PRD-IDM-15", before=st.integers(1, 6), count=st.integers(1, 6), idle_ms=IDLE_MS)
@example(before=2, count=2, idle_ms=700_000)
def a_forgotten_producer_goes_on(components: Components, before: int, count: int, idle_ms: int) -> None:
    """If brokers have forgotten an idle producer, it continues with its next number, and loses nothing."""
    simulation = Simulation(components)
    for _ in range(before):
        simulation.warm()
    simulation.run(idle_ms)
    simulation.cluster.expire_producers(simulation.scheduler.now_ns)
    for _ in range(count):
        simulation.warm()
    assert len(simulation.log()) == before + count
    assert len(simulation.told(ProducerIdAssigned)) == 1
    assert [sent.base_sequence for sent in simulation.told(BatchSent)] == list(range(before + count))


@client_property("PRD-IDM-14", before=st.integers(1, 4), ahead=st.integers(1, 5))
def a_new_epoch_begins_at_0_and_ends_the_old_one(components: Components, before: int, ahead: int) -> None:
    """Under a raised epoch the first sequence is 0. Brokers refuse any other, and every batch with the old epoch."""
    simulation = Simulation(components, {"linger.ms": 0})
    meddler = Meddler(simulation)
    for _ in range(before):
        simulation.warm()
    old = meddler.of(Api.PRODUCE)[-1]
    simulation.cluster.inject_error(Api.PRODUCE, OUT_OF_ORDER, 1)
    simulation.warm()
    new = meddler.of(Api.PRODUCE)[-1]
    stamps = [_stamp(each) for each in (old, new)]
    assert stamps == [(0, before - 1), (1, 0)], f"(epoch, sequence) went from {stamps[0]} to {stamps[1]}"
    stored = len(simulation.log())
    assert _says(simulation, old) is ErrorCode.invalid_producer_epoch
    assert _says(simulation, _stamped(new, 2, ahead)) is ErrorCode.out_of_order_sequence_number
    assert len(simulation.log()) == stored, "a broker appends what it refuses"


def _records(seen: Seen) -> bytes:
    [topic] = seen.body.topic_data
    [partition] = topic.partition_data
    return bytes(partition.records)


def _stamp(seen: Seen) -> tuple[int, int]:
    [batch] = read_batches(_records(seen))
    return batch.header.producer_epoch, batch.header.base_sequence


def _stamped(seen: Seen, epoch: int, base_sequence: int) -> Seen:
    """Return the request with another epoch and sequence."""
    [topic] = seen.body.topic_data
    [partition] = topic.partition_data
    [batch] = read_batches(_records(seen))
    records = restamp(_records(seen), batch.header.producer_id, epoch, base_sequence)
    changed = replace(topic, partition_data=(replace(partition, records=records),))
    return seen._replace(body=replace(seen.body, topic_data=(changed,)))


def _says(simulation: Simulation, seen: Seen) -> ErrorCode:
    """Return a broker's answer to a request that it has received before."""
    payload = encode_request(seen.body, 7, "law")[SIZE_BYTES:]
    answer = simulation.cluster.handle(seen.node_id, 0, payload, simulation.scheduler.now_ns)
    assert answer.frame is not None
    _, body = decode_response(answer.frame[SIZE_BYTES:], Api.PRODUCE, seen.version)
    code: ErrorCode = body.responses[0].partition_responses[0].error_code
    return code


@client_property(
    "PRD-IDM-08", gap_ms=st.integers(1, 10), behind=st.integers(1, 4), refusals=st.integers(1, 3)
)
def a_batch_refused_behind_others_goes_again_as_it_was(
    components: Components, gap_ms: int, behind: int, refusals: int
) -> None:
    """If a batch is refused as out of order after one to be retried, each is sent again unchanged and in order."""
    simulation = Simulation(components, {"linger.ms": 0})
    simulation.warm()
    simulation.proxy().down.delay("prop", ROUND_TRIP_MS * NS_PER_MS)
    simulation.cluster.inject_error(Api.PRODUCE, NOT_ENOUGH_REPLICAS, refusals)
    sent = []
    for number in range(1 + behind):
        sent.append(simulation.send(b"%d" % number))
        simulation.run(gap_ms)
    assert simulation.run_until(lambda: all(each.is_done for each in sent), 60_000)
    assert [each.error for each in sent] == [None] * len(sent)
    refused = [
        event for event in simulation.told(BatchRetried) if event.error == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    ]
    assert refused or behind < refusals, "nothing was refused after the first"
    assert len(simulation.told(ProducerIdAssigned)) == 1, "the epoch was raised"
    stamps: dict[str, set[tuple[int, int]]] = {}
    for event in simulation.told(BatchSent):
        stamps.setdefault(event.batch, set()).add((event.producer_epoch, event.base_sequence))
    assert all(len(each) == 1 for each in stamps.values()), stamps
    assert [row.value for row in simulation.log()][1:] == [str(number) for number in range(1 + behind)]


@client_property(
    "PRD-IDM-12",
    log_start=st.sampled_from([NO_LOG_START, 0, 7]),
    before=st.integers(1, 4),
    count=st.integers(1, 4),
)
@example(log_start=NO_LOG_START, before=2, count=2)
@example(log_start=0, before=2, count=2)
def an_unknown_producer_goes_again(components: Components, log_start: int, before: int, count: int) -> None:
    """After UNKNOWN_PRODUCER_ID a batch is resent, unchanged if the log's start is unknown, else from sequence 0."""
    simulation = Simulation(components, {"linger.ms": 5})
    for _ in range(before):
        simulation.warm()

    def told(_: Seen, body: Any) -> Any:
        [topic] = body.responses
        [partition] = topic.partition_responses
        if partition.error_code is not ErrorCode.unknown_producer_id:
            return body
        changed = replace(topic, partition_responses=(replace(partition, log_start_offset=log_start),))
        return replace(body, responses=(changed,))

    Meddler(simulation, {Api.PRODUCE: told})
    attempts = len(simulation.told(BatchSent))
    simulation.cluster.inject_error(Api.PRODUCE, UNKNOWN_PRODUCER, 1)
    sent = [simulation.send(b"%d" % number) for number in range(count)]
    assert simulation.run_until(lambda: all(each.is_done for each in sent), 60_000)
    assert [each.error for each in sent] == [None] * count
    first, again = simulation.told(BatchSent)[attempts : attempts + 2]
    assert first.batch == again.batch, "the refused batch is not the next one to be sent again"
    due = (0, before) if log_start == NO_LOG_START else (1, 0)
    assert (again.producer_epoch, again.base_sequence) == due
    assert [row.value for row in simulation.log()][before:] == [str(number) for number in range(count)]


@client_property("PRD-IDM-04", more=st.integers(1, 6), slow_ms=st.integers(2_000, 8_000))
def no_more_than_five_batches_are_out(components: Components, more: int, slow_ms: int) -> None:
    """At most five batches of a partition are in flight, even if its new leader has another connection."""
    settings = {"linger.ms": 0, "batch.size": 0, "metadata.max.age.ms": 100, "request.timeout.ms": 10_000}
    simulation = Simulation(components, settings, nodes=3)
    simulation.warm()
    old, _ = simulation.cluster.leader(TOPIC, 0)
    simulation.proxy(old).down.delay("prop", slow_ms * NS_PER_MS)
    sent = []
    for number in range(5 + more):
        if number == 5:
            new = next(node_id for node_id in simulation.cluster.node_ids if node_id != old)
            simulation.cluster.move_leader(TOPIC, 0, new, simulation.scheduler.now_ns)
            simulation.run(1_000)
        sent.append(simulation.send(b"%d" % number))
        simulation.run(10)
    assert simulation.run_until(lambda: all(each.is_done for each in sent), 120_000)
    assert [each.error for each in sent] == [None] * len(sent)
    out: set[str] = set()
    most = 0
    for event in simulation.trace:
        if isinstance(event, BatchSent):
            out.add(event.batch)
        elif isinstance(event, BatchEnded | BatchRetried):
            out.discard(event.batch)
        most = max(most, len(out))
    assert most == 5, f"{most} batches were out"


@client_property("PRD-IDM-16", idempotent=st.booleans(), count=st.integers(1, 3))
def what_the_application_repeats_is_a_new_record(
    components: Components, idempotent: bool, count: int
) -> None:
    """A record that was reported as failed and is sent again is stored again, whatever happened to the first one."""
    settings = {"request.timeout.ms": 1_000, "delivery.timeout.ms": 1_000, "linger.ms": 0}
    simulation = Simulation(components, settings | {"enable.idempotence": idempotent})
    simulation.warm()
    simulation.proxy().down.delay("prop", 5_000 * NS_PER_MS)
    first = [simulation.send(b"%d" % number) for number in range(count)]
    assert simulation.run_until(lambda: all(each.is_done for each in first), 10_000)
    assert all(each.error is not None for each in first), "an unanswered record counts as a success"
    simulation.proxy().down.restore("prop")
    simulation.run(500)  # the connection of the first request has ended too
    again = [simulation.send(b"%d" % number) for number in range(count)]
    assert simulation.run_until(lambda: all(each.is_done for each in again), 60_000)
    assert [each.error for each in again] == [None] * count
    expected = [str(number) for number in range(count)]
    assert [row.value for row in simulation.log()][1:] == 2 * expected
