"""Batches that are too large for the broker are replaced by smaller ones, and the application does not notice."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clients.reference.telemetry.trace import BatchClosed, BatchRetried, BatchSent, BatchSplit
from harness.model.verdicts import Outcome
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME
from harness.wire.records import Codec

TOO_LARGE = BY_NAME["MESSAGE_TOO_LARGE"].code
NOT_ENOUGH = BY_NAME["NOT_ENOUGH_REPLICAS"].code


def no_more_than(w, limit_bytes):
    """Make the brokers reject larger batches. They check the size before they check for duplicates."""
    w.cluster.alter_config("t", {"max.message.bytes": str(limit_bytes)})


def sent(w):
    """Return (batch, base sequence, records) of every attempt."""
    return [(event.batch, event.base_sequence, event.record_count) for event in w.told(BatchSent)]


@pytest.mark.parametrize("idempotent", [True, False])
def test_oversized_batch_is_split_and_stored_in_order(world, idempotent):
    """PRD-SPL-01: every callback runs once, in send order, with the record's own offset."""
    w = world(batch_size=1_000, linger_ms=50, enable_idempotence=idempotent)
    no_more_than(w, 400)
    told = []
    deliveries = [
        w.send(value=b"%d" % n + b"x" * 90, callback=lambda m, e, n=n: told.append((n, m.offset)))
        for n in range(8)
    ]
    w.settle(*deliveries)
    assert told == [(n, n) for n in range(8)]
    assert [delivery.metadata.offset for delivery in deliveries] == list(range(8))
    assert [value[:1] for value in w.brokers.values()] == [b"%d" % n for n in range(8)]
    assert w.told(BatchSplit)
    assert w.core.not_at_rest() == []


def test_oversized_single_record_fails_at_once(world):
    """PRD-SPL-02."""
    w = world(batch_size=1_000)
    no_more_than(w, 400)
    delivery = w.send(value=b"x" * 600)
    w.settle(delivery)
    assert (delivery.error.name, delivery.error.outcome) == ("MESSAGE_TOO_LARGE", Outcome.FAIL)
    assert len(w.brokers.requests()) == 1
    assert w.told(BatchSplit) == []


def test_oversized_record_among_small_ones_fails_alone(world):
    """PRD-SPL-01, -02: splitting continues until the record is alone in its batch."""
    w = world(batch_size=2_000, linger_ms=50)
    no_more_than(w, 400)
    deliveries = [w.send(value=b"x" * size) for size in (10, 20, 600, 30, 40)]
    w.settle(*deliveries)
    errors = [delivery.error and delivery.error.name for delivery in deliveries]
    assert errors == [None, None, "MESSAGE_TOO_LARGE", None, None]
    assert [len(value) for value in w.brokers.values()] == [10, 20, 30, 40]
    assert w.core.not_at_rest() == []


def test_split_is_not_a_retry_and_keeps_the_age(world):
    """PRD-SPL-03: with no retries left the parts are sent, and they expire when the whole would have expired."""
    w = world(batch_size=1_000, linger_ms=50, retries=0, enable_idempotence=False)
    no_more_than(w, 300)
    w.settle(*[w.send(value=b"x" * 90) for _ in range(6)])
    assert len(w.brokers.values()) == 6
    assert w.told(BatchRetried) == []

    w = world(batch_size=1_000, linger_ms=50, delivery_timeout_ms=3_000, request_timeout_ms=1_000)
    w.settle(w.send())
    no_more_than(w, 300)
    w.brokers.script = lambda seen: (
        NOT_ENOUGH if seen.api is Api.PRODUCE and all(len(data) <= 300 for _, data in seen.produced) else None
    )
    start_ms = w.now_ms
    deliveries = [w.send(value=b"x" * 90) for _ in range(6)]
    w.settle(*deliveries)
    assert w.now_ms == start_ms + 3_000
    assert {delivery.error.name for delivery in deliveries} == {"REQUEST_TIMED_OUT"}


def test_attempts_of_the_whole_count_for_the_parts(world):
    """PRD-SPL-03: the parts have exactly as many attempts as the whole had left."""
    w = world(batch_size=1_000, linger_ms=50, retries=1, enable_idempotence=False)
    w.brokers.fates(NOT_ENOUGH, TOO_LARGE, NOT_ENOUGH)
    deliveries = [w.send(value=b"x" * 90) for _ in range(2)]
    w.settle(*deliveries)
    assert [d.error and d.error.name for d in deliveries] == ["NOT_ENOUGH_REPLICAS", None]


def test_expired_batch_is_not_split(world):
    """PRD-SPL-03: the response that requires a split arrives after the batch has expired."""
    w = world(batch_size=1_000, linger_ms=0, delivery_timeout_ms=2_000, request_timeout_ms=1_900)
    w.settle(w.send())
    w.brokers.fates(NOT_ENOUGH, TOO_LARGE)
    w.slow(1_500)
    deliveries = [w.send(value=b"x" * 90) for _ in range(6)]
    w.settle(*deliveries)
    w.run(10_000)
    assert {delivery.error.name for delivery in deliveries} == {"REQUEST_TIMED_OUT"}
    assert len(w.brokers.requests()) == 3
    assert w.told(BatchSplit) == []


def test_batch_at_its_expiry_is_not_split(world):
    """PRD-SPL-03: the response arrives in the millisecond in which the batch expires, and is its result."""
    w = world(batch_size=1_000, linger_ms=0, delivery_timeout_ms=2_000, request_timeout_ms=1_900)
    w.settle(w.send())
    w.brokers.fates(NOT_ENOUGH, TOO_LARGE)
    w.slow(950)
    deliveries = [w.send(value=b"x" * 90) for _ in range(6)]
    w.settle(*deliveries)
    assert {delivery.error.name for delivery in deliveries} == {"MESSAGE_TOO_LARGE"}
    assert w.told(BatchSplit) == []


def test_parts_keep_the_sequences_of_their_records(world):
    """PRD-SPL-04: the following batches have no sequence gap, in the same epoch."""
    w = world(batch_size=1_000, linger_ms=0, max_in_flight_requests_per_connection=5)
    no_more_than(w, 400)
    w.settle(w.send())
    deliveries = [w.send(value=b"x" * 90) for _ in range(20)]
    w.settle(*deliveries)
    assert {event.producer_epoch for event in w.told(BatchSent)} == {0}
    stored = [batch.header for batch in w.brokers.batches()]
    assert all(b.base_sequence == a.base_sequence + a.record_count for a, b in pairwise(stored))
    assert sum(header.record_count for header in stored) == 21


def test_parts_are_sent_in_order_before_later_batches(world):
    """PRD-SPL-01, PRD-IDM-07."""
    w = world(batch_size=400, linger_ms=0)
    no_more_than(w, 300)
    w.settle(w.send())
    w.settle(*[w.send(value=b"x" * 90) for _ in range(9)])
    orders = [tuple(map(int, name.partition("#")[2].split("."))) for name, _, _ in sent(w)]
    accepted = [order for order in orders if not any(o[: len(order)] == order and o != order for o in orders)]
    finals = list(dict.fromkeys(accepted))
    assert finals == sorted(finals)


@pytest.mark.parametrize("younger", ["stored", "waiting"])
def test_parts_of_a_batch_in_doubt_are_never_restamped(world, younger):
    """The whole is stored, its response is lost, and then the size limit is lowered.

    The broker does not recognize the parts, and would store them again if they were restamped. They end at once with
    an unknown outcome (Java would store them twice), and the following batches continue.
    """
    w = world(
        batch_size=1_000, linger_ms=20, request_timeout_ms=500, delivery_timeout_ms=9_000, retry_backoff_ms=50
    )
    w.settle(w.send())
    w.brokers.fates(*["hold", None, TOO_LARGE] if younger == "stored" else ["hold", TOO_LARGE])
    sent_at_ms = w.now_ms
    deliveries = [w.send(value=b"%d" % n) for n in range(4)]
    w.run(100 if younger == "stored" else 530)
    behind = w.send(value=b"behind")
    w.settle(*deliveries, behind)
    assert {delivery.error.outcome for delivery in deliveries} == {Outcome.INFO}
    assert {delivery.error.name for delivery in deliveries} == {"OUT_OF_ORDER_SEQUENCE_NUMBER"}
    assert behind.error is None
    w.settle(w.send(value=b"last"))
    assert w.now_ms < sent_at_ms + 9_000
    assert w.brokers.values() == [b"v0", b"0", b"1", b"2", b"3", b"behind", b"last"]


def test_batches_are_smaller_after_a_split(world):
    """PRD-SPL-05: the estimate rises to at least 1, and there are fewer rejections than batches."""
    w = world(batch_size=1_000, linger_ms=0, compression_type="gzip", buffer_memory=1_000_000)
    estimator = w.accumulator.estimator
    while estimator.estimation("t") > 0.1:
        estimator.observed("t", 0.1)  # batches that compressed well
    values = [bytes((n * 7 + i * i * 31 + i * n) % 256 for i in range(120)) for n in range(60)]
    no_more_than(w, 1_000)
    w.settle(*[w.send(value=value) for value in values])
    assert w.told(BatchSplit)
    assert estimator.estimation("t") > 0.9
    before = len(w.told(BatchSplit))
    w.settle(*[w.send(value=value) for value in values])
    assert len(w.told(BatchSplit)) == before


def test_flush_waits_for_all_parts(world):
    """PRD-SPL-06."""
    w = world(batch_size=1_000, linger_ms=10_000, delivery_timeout_ms=60_000)
    no_more_than(w, 300)
    deliveries = [w.send(value=b"x" * 90) for _ in range(8)]
    w.run(100)
    batches = w.core.begin_flush()
    w.until(lambda: bool(w.told(BatchSplit)))
    assert not all(batch.is_published for batch in batches)
    w.until(lambda: all(batch.is_published for batch in batches))
    w.core.end_flush()
    assert all(delivery.is_done for delivery in deliveries)


def test_close_waits_for_all_parts(world):
    """PRD-CLS-03, PRD-SPL-06."""
    w = world(batch_size=1_000, linger_ms=10_000, delivery_timeout_ms=60_000)
    no_more_than(w, 300)
    deliveries = [w.send(value=b"x" * 90) for _ in range(8)]
    w.run(100)
    w.core.close(w.now_ms)
    w.until(lambda: w.core.is_closed)
    assert [delivery.error for delivery in deliveries] == [None] * 8


@given(
    st.lists(st.integers(0, 500), min_size=1, max_size=30),
    st.integers(120, 700),
    st.sampled_from([200, 1_000, 5_000]),
    st.sampled_from(list(Codec)),
    st.booleans(),
)
def test_records_that_fit_alone_are_stored_once_in_order(world, sizes, limit, batch_size, codec, idempotent):
    """PRD-SPL-01, -02, PRD-ACC-11: splitting converges for an oversized batch.size, with any codec."""
    w = world(
        batch_size=batch_size,
        linger_ms=20,
        compression_type=codec.name.lower(),
        enable_idempotence=idempotent,
        max_in_flight_requests_per_connection=1,
    )
    no_more_than(w, limit)
    values = [bytes((n * 131 + i * i * 17) % 251 for i in range(size)) for n, size in enumerate(sizes)]
    deliveries = [w.send(value=value) for value in values]
    w.settle(*deliveries)
    stored = [value for value, delivery in zip(values, deliveries, strict=True) if delivery.error is None]
    assert w.brokers.values() == stored
    for size, delivery in zip(sizes, deliveries, strict=True):
        if delivery.error:
            assert delivery.error.name == "MESSAGE_TOO_LARGE"
            assert size + 61 + 21 + 4 > limit or codec is not Codec.NONE
    closed = [event for event in w.told(BatchClosed) if event.reason == "part"]
    assert len(closed) == sum(event.parts for event in w.told(BatchSplit))
    assert w.core.not_at_rest() == []
