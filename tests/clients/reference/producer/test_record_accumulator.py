"""Which batches share a request, and the order in which partitions are served."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st


def requests(w):
    """Return the partitions and sizes of the batches of each Produce request."""
    return [[(partition, len(data)) for partition, data in seen.produced] for seen in w.brokers.requests()]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 900)), min_size=1, max_size=30),
    st.sampled_from([1_000, 1_500, 4_000]),
)
def test_one_batch_per_partition_up_to_max_request_size(world, records, limit):
    """PRD-ACC-01, PRD-ACC-05."""
    w = world(batch_size=500, max_request_size=limit, linger_ms=1_000, delivery_timeout_ms=60_000)
    w.settle(*[w.send(partition=partition, value=b"x" * size) for partition, size in records])
    for batches in requests(w):
        assert max(Counter(partition for partition, _ in batches).values()) == 1
        assert len(batches) == 1 or sum(size for _, size in batches) <= limit
        for _, size in batches:
            assert size <= 500 or size <= 900 + 100  # larger than batch.size only for a single record
    for partition in range(3):
        sent = [len(v) for v in w.brokers.values(partition)]
        assert sent == [size for p, size in records if p == partition]


def test_record_larger_than_batch_size_gets_its_own_batch(world):
    """PRD-ACC-01."""
    w = world(batch_size=200, linger_ms=1_000)
    w.settle(*[w.send(value=b"x" * size) for size in (10, 10, 900, 10)])
    assert [batch.header.record_count for batch in w.brokers.batches()] == [2, 1, 1]


def test_no_partition_starves_if_only_one_batch_fits_a_request(world):
    """PRD-ACC-06."""
    w = world(batch_size=600, max_request_size=700, linger_ms=0, max_in_flight_requests_per_connection=1)
    deliveries = [w.send(partition=partition, value=b"x" * 500) for _ in range(6) for partition in range(3)]
    w.settle(*deliveries)
    order = [batches[0][0] for batches in requests(w)]
    for begin in range(len(order) - 2):
        assert set(order[begin : begin + 3]) == {0, 1, 2}


def test_unavailable_node_does_not_delay_others(world):
    """PRD-ACC-13."""
    w = world(nodes=2)
    w.refuse(2)
    w.settle(w.send())
    stuck = w.send(partition=1)
    for _ in range(20):
        start_ms = w.now_ms
        w.settle(w.send(partition=0))
        assert w.now_ms - start_ms < 20
        w.run(50)
    assert not stuck.is_done


def test_memory_pressure_ends_the_linger(world):
    """PRD-ACC-02: if a send waits for memory, all batches are sent."""
    w = world(linger_ms=10_000, batch_size=400, buffer_memory=400, delivery_timeout_ms=60_000)
    first, second = w.send(value=b"x" * 300), w.send(value=b"x" * 300)
    start_ms = w.now_ms
    w.settle(first)
    assert w.now_ms - start_ms < 1_000
    assert not second.is_blocked
