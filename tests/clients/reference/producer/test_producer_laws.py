"""Properties that hold under any network events, over random faults (E2E-DEL-01, -02, PRD-EXP-01, PRD-FIN-01).

A schedule sets the fate of each Produce request in turn. Then the network heals, and every record must get a result.
The properties follow from the guarantees, not from the implementation.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clients.reference.states import BatchState
from clients.reference.telemetry.trace import BatchExpired, StateChanged
from harness.model.verdicts import Outcome
from harness.wire.error_table import BY_NAME
from harness.wire.records import read_batches

ERRORS = [
    BY_NAME[name].code
    for name in (
        "NOT_ENOUGH_REPLICAS",
        "REQUEST_TIMED_OUT",
        "NOT_LEADER_OR_FOLLOWER",
        "CORRUPT_MESSAGE",
        "KAFKA_STORAGE_ERROR",
        "MESSAGE_TOO_LARGE",
        "INVALID_RECORD",
        "TOPIC_AUTHORIZATION_FAILED",
    )
]
FATES = st.sampled_from([None, None, None, "hold", "lose", "late", "close-after", "close-before", *ERRORS])
SCHEDULES = st.lists(FATES, max_size=30)
SENDS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([0, 1, 7, 150, 2_000])), min_size=1, max_size=40
)
SETTINGS = st.fixed_dictionaries(
    {
        "batch_size": st.sampled_from([0, 120, 400]),
        "linger_ms": st.sampled_from([0, 5, 300]),
        "max_in_flight_requests_per_connection": st.integers(1, 5),
        "retries": st.sampled_from([1, 3, 2**31 - 1]),
        "request_timeout_ms": st.sampled_from([300, 1_000]),
        "delivery_timeout_ms": st.sampled_from([1_300, 5_000]),
        "buffer_memory": st.sampled_from([1_000, 33_554_432]),
        "compression_type": st.sampled_from(["none", "lz4"]),
    }
)


def run(world, schedule, sends, **given_settings):
    """Send records during the schedule, heal the network, and wait until everything has a result."""
    w = world(max_block_ms=60_000, **given_settings)
    w.brokers.fates(*schedule)
    batches_are_in_their_places(w)
    told: dict[int, list[tuple[int, object]]] = {0: [], 1: [], 2: []}
    deliveries = []
    for number, (partition, pause_ms) in enumerate(sends):

        def callback(metadata, error, number=number, partition=partition):
            told[partition].append((number, error))

        delivery = w.send(partition=partition, value=b"%d/%d" % (partition, number), callback=callback)
        w.until(lambda made=delivery: not made.is_blocked)
        deliveries.append((partition, b"%d/%d" % (partition, number), delivery))
        w.run(pause_ms)
    w.settle(*(delivery for _, _, delivery in deliveries))
    w.run(10_000)  # late responses too
    return w, deliveries, told


def batches_are_in_their_places(w):
    """PRD-FIN-04: after every round, a batch without a final state is in its queue or in flight, but not in both."""
    run_once = w.core.run_once

    def watched(now_ms):
        deadline_ms = run_once(now_ms)
        assert w.core.misplaced() == []
        return deadline_ms

    w.core.run_once = watched


def common_laws(w, deliveries, told):
    """E2E-DEL-01, PRD-ACC-11, PRD-ACC-12, PRD-SND-01, PRD-EXP-01, PRD-FIN-01."""
    stored = {partition: w.brokers.values(partition) for partition in range(3)}
    for partition, value, delivery in deliveries:
        if delivery.error is None:
            assert value in stored[partition], "an acknowledged record is lost"
            assert stored[partition][delivery.metadata.offset] == value, (
                "its offset is that of another record"
            )
        elif delivery.error.outcome is Outcome.FAIL:
            assert value not in stored[partition], "a record reported as certainly not stored is stored"
    for partition, numbers in told.items():
        expected = [int(value.split(b"/")[1]) for p, value, _ in deliveries if p == partition]
        assert sorted(number for number, _ in numbers) == expected, "a callback is missing or ran twice"
    assert w.accumulator.pool.available_bytes == w.config.buffer_memory
    limit_ms = w.config.delivery_timeout_ms
    for expired in w.told(BatchExpired):
        assert expired.age_ms == limit_ms, "expired early, or late although the client was not delayed"
    assert w.core.not_at_rest() == []
    final = {state.value for state in BatchState if state.is_final} | {BatchState.SPLIT.value}
    ends = Counter(e.subject for e in w.told(StateChanged) if e.after in final and e.before not in final)
    assert set(ends.values()) <= {1}
    assert set(ends) == {e.subject for e in w.told(StateChanged) if e.machine == "batch"}


@pytest.mark.long("many simulated producers an example")
@given(SCHEDULES, SENDS, SETTINGS)
@settings(max_examples=150)
def test_at_least_once_loses_no_acknowledged_record(world, schedule, sends, chosen):
    w, deliveries, told = run(world, schedule, sends, enable_idempotence=False, **chosen)
    common_laws(w, deliveries, told)
    if chosen["max_in_flight_requests_per_connection"] == 1:  # PRD-ACC-08
        for partition in range(3):
            acknowledged_in_order(w, deliveries, partition)


def acknowledged_in_order(w, deliveries, partition):
    """Check the order of the first copies.

    A late copy of a failed record may appear anywhere, and so may a second copy of a retried one.
    """
    values = w.brokers.values(partition)
    places = [values.index(value) for p, value, d in deliveries if p == partition and d.error is None]
    assert places == sorted(places), "acknowledged records are out of order"


@pytest.mark.long("many simulated producers an example")
@given(SCHEDULES, SENDS, SETTINGS)
@settings(max_examples=250)
@example(
    ["hold"],
    [(0, 0), (0, 0), (0, 2_000), (0, 0)],
    {"batch_size": 0, "delivery_timeout_ms": 1_300, "request_timeout_ms": 1_000, "retries": 3},
)
def test_idempotence_stores_each_record_at_most_once_and_in_order(world, schedule, sends, chosen):
    w, deliveries, told = run(world, schedule, sends, **chosen)
    common_laws(w, deliveries, told)
    for partition in range(3):
        numbers = [int(value.split(b"/")[1]) for value in w.brokers.values(partition)]
        assert len(numbers) == len(set(numbers)), "a record is stored twice"
        acknowledged_in_order(w, deliveries, partition)
    sequences_are_sound(w)


def sequences_are_sound(w):
    """PRD-IDM-02, -03, -13, PRD-SPL-04: within an epoch a sequence number belongs to one record, without gaps.

    The check is by record, not by batch: the parts of a split batch have its numbers and its records.
    """
    chains: dict[tuple[int, int, int], dict[int, bytes]] = {}
    for seen in w.brokers.requests():
        for partition, data in seen.produced:
            (batch,) = read_batches(data)
            header = batch.header
            chain = chains.setdefault((partition, header.producer_id, header.producer_epoch), {})
            for number, record in enumerate(batch.records, header.base_sequence):
                assert chain.setdefault(number, record.value) == record.value, "a sequence was used twice"
    for chain in chains.values():
        assert sorted(chain) == list(range(len(chain))), "a gap in the sequences that were sent"
