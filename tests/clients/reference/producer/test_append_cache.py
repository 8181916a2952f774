"""The path of a record into its batch: the fast and the slow path have the same result.

Records without metadata or memory wait.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clients.reference.errors import IllegalStateError, ProducerClosedError
from clients.reference.telemetry.trace import BatchClosed, BatchCreated, BatchSent
from harness.model.verdicts import Outcome
from harness.wire.apis import Api


class NoCache(dict):
    """Stores no entry, so that every record takes the slow path."""

    def __setitem__(self, key, value):
        pass


RECORDS = st.lists(
    st.tuples(
        st.sampled_from([None, 0, 1, 2]),
        st.none() | st.binary(max_size=3),
        st.none() | st.integers(0, 700),
        st.sampled_from([0, 0, 0, 0, 0, 1, 30]),
    ),
    min_size=1,
    max_size=60,
)


@pytest.mark.long("many simulated producers an example")
@given(
    RECORDS,
    st.sampled_from([0, 100, 300, 1_000, 20_000]),
    st.sampled_from(["none", "gzip"]),
    st.sampled_from([0, 20]),
    st.booleans(),
    st.sampled_from([2_000, 10**6]),
)
@example(
    [(None, None, 9, 0), (None, None, 9, 0), (1, None, 280, 0), (None, None, 9, 0)],
    300,
    "none",
    20,
    False,
    10**6,
)
@settings(max_examples=150)
def test_fast_path_equals_slow_path(world, records, batch_size, codec, linger_ms, ignore_keys, memory):
    """PRD-ACC-01, PRD-ISP-06, PRD-ISP-07: the same records in the same batches, closed for the same reasons."""
    outcomes = []
    for quick in (True, False):
        w = world(
            batch_size=batch_size,
            compression_type=codec,
            linger_ms=linger_ms,
            partitioner_ignore_keys=ignore_keys,
            buffer_memory=memory,
        )
        w.settle(*[w.send(partition=partition) for partition in range(3)])
        if not quick:
            # The slow path has no switch: it runs whenever the cache has no entry.
            w.core._seats._seats = NoCache()
        deliveries = []
        for partition, key, size, pause_ms in records:
            value = None if size is None else bytes(i * 7 % 256 for i in range(size))
            deliveries.append(w.send(partition=partition, key=key, value=value))
            if pause_ms:
                w.run(pause_ms)
        w.settle(*deliveries)
        stuck = {topic: (each.partition, each.bytes) for topic, each in w.chooser.sticky.items()}
        kinds = (BatchCreated, BatchClosed, BatchSent)
        placed = [(d.metadata.partition, d.metadata.offset) for d in deliveries]
        outcomes.append((placed, stuck, [event for event in w.trace if isinstance(event, kinds)]))
        assert w.core.not_at_rest() == []
    assert outcomes[0] == outcomes[1]


def test_closed_producer_refuses_on_the_fast_path(world):
    """PRD-CLS-03."""
    w = world(linger_ms=1_000)
    w.settle(w.send())
    w.send()
    w.core.close(w.now_ms)
    with pytest.raises(IllegalStateError):
        w.send()


def test_unsent_batches_can_be_aborted_alone(world):
    """The part of PRD-TXN-18 that needs no transaction: batches that were sent continue to their result."""
    w = world(linger_ms=0, batch_size=0, max_in_flight_requests_per_connection=1)
    w.settle(w.send())
    w.slow(50)
    sent = w.send()
    w.run(10)
    queued = w.send()
    w.core.abort_undrained(lambda batch: ProducerClosedError("made-up", "given up"), w.now_ms)
    w.settle(sent, queued)
    assert sent.error is None
    assert (str(queued.error), queued.error.outcome) == ("given up", Outcome.FAIL)
    assert w.core.not_at_rest() == []
    w.settle(w.send())


def test_aborting_unsent_batches_keeps_a_retry(world):
    w = world(linger_ms=0)
    w.brokers.script = lambda seen: 19 if seen.api is Api.PRODUCE and len(w.brokers.seen) < 6 else None
    delivery = w.send()
    w.until(lambda: bool(w.accumulator.queued()) and w.accumulator.queued()[0].attempts > 0)
    w.core.abort_undrained(lambda batch: ProducerClosedError("made-up", "given up"), w.now_ms)
    w.settle(delivery)
    assert delivery.error is None


def test_forced_close_frees_all_memory(world):
    """PRD-ACC-11, PRD-CLS-04: including batches on the wire, since nothing can be written any more."""
    w = world(linger_ms=0, batch_size=0, max_in_flight_requests_per_connection=2)
    w.settle(w.send())
    w.brokers.fates(then="hold")
    deliveries = [w.send() for _ in range(5)]
    w.run(10)
    w.core.close(w.now_ms, 100)
    w.until(lambda: w.core.is_closed)
    assert {type(delivery.error) for delivery in deliveries} == {ProducerClosedError}
    assert w.core.not_at_rest() == []


def test_memory_of_expired_batch_is_kept_while_its_request_is_in_flight(world):
    """PRD-ACC-12, KAFKA-19012: its bytes cannot change either."""
    w = world(
        delivery_timeout_ms=1_500, request_timeout_ms=1_500, linger_ms=0, batch_size=0, buffer_memory=250
    )
    w.settle(w.send())
    w.slow(740)
    w.brokers.fates(19)
    w.settle(w.send(value=b"first"))
    held = w.accumulator.pool.available_bytes
    assert held < w.config.buffer_memory
    before = [batch.payload() for batch in w.accumulator.unreleased()]
    other = w.send(value=b"second", partition=1)
    assert [batch.payload() for batch in w.accumulator.unreleased()][: len(before)] == before
    w.settle(other)
    w.run(5_000)
    assert w.core.not_at_rest() == []
    assert b"second" not in w.brokers.values(0)
