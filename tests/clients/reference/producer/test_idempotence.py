"""Epochs and sequences after failures, against brokers that check them like Kafka's."""

from __future__ import annotations

import pytest

from clients.reference.telemetry.trace import (
    BatchSent,
    ProducerIdAssigned,
    SequenceResolved,
    SequenceUnresolved,
)
from harness.model.verdicts import Outcome
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME

OUT_OF_ORDER = BY_NAME["OUT_OF_ORDER_SEQUENCE_NUMBER"].code
UNKNOWN_PRODUCER = BY_NAME["UNKNOWN_PRODUCER_ID"].code
NOT_ENOUGH = BY_NAME["NOT_ENOUGH_REPLICAS"].code


def attempts(w, partition=0):
    """Return (epoch, base sequence) of every attempt for a partition, in order."""
    sent = [event for event in w.told(BatchSent) if event.batch.startswith(f"t-{partition}#")]
    return [(event.producer_epoch, event.base_sequence) for event in sent]


def one_by_one(world, **settings):
    """Return a producer of one-record batches with one acknowledged batch, so that several may be in flight."""
    w = world(batch_size=0, linger_ms=0, **settings)
    w.settle(w.send())
    return w


def test_sequences_count_records_and_wrap(world):
    """PRD-IDM-02: 0 follows 2147483647."""
    w = world(linger_ms=20)
    w.settle(*[w.send() for _ in range(3)])
    # A sequence number wraps only after 2**31 records.
    entry = w.transactions._sequences["t", 0]
    entry.next_sequence, entry.last_acked_sequence = 2**31 - 2, 2**31 - 3
    w.cluster.expire_producers(0)
    w.settle(*[w.send() for _ in range(3)])
    w.settle(*[w.send() for _ in range(2)])
    assert attempts(w) == [(0, 0), (0, 2**31 - 2), (0, 1)]
    assert len(w.brokers.values()) == 8


def test_one_batch_until_the_first_is_acknowledged_then_five(world):
    """PRD-IDM-04."""
    w = world(batch_size=0, linger_ms=0, max_in_flight_requests_per_connection=5)
    w.slow(50)
    deliveries = [w.send() for _ in range(12)]
    counts = []

    def first_is_done():
        counts.append(w.client.in_flight_count(1))
        return deliveries[0].is_done

    w.until(first_is_done)
    assert max(counts[:-1]) == 1
    w.run(1)
    assert w.client.in_flight_count(1) == 5
    w.settle(*deliveries)
    assert len(w.brokers.values()) == 12


def test_duplicate_is_a_success_with_its_first_offset(world):
    """PRD-IDM-05."""
    w = one_by_one(world, request_timeout_ms=500)
    w.brokers.fates("hold")
    delivery = w.send()
    w.settle(delivery)
    assert delivery.metadata.offset == 1
    assert len(w.brokers.values()) == 2
    assert attempts(w) == [(0, 0), (0, 1), (0, 1)]


def test_forgotten_duplicate_is_a_success_without_offset(world):
    """PRD-IDM-06."""
    w = world()
    w.brokers.fates(BY_NAME["DUPLICATE_SEQUENCE_NUMBER"].code)
    delivery = w.send()
    w.settle(delivery)
    assert delivery.metadata.offset == -1


@pytest.mark.parametrize("disposition", [NOT_ENOUGH, 7, 6, 2, "hold", "lose", "close-after", "close-before"])
def test_failure_among_batches_is_retried_in_order(world, disposition):
    """PRD-IDM-07, -08: the following batches are rejected too, and are retried only after the lowest."""
    w = one_by_one(world, request_timeout_ms=500)
    w.brokers.fates(None, disposition)
    w.settle(*[w.send() for _ in range(5)])
    assert w.brokers.values() == [b"v%d" % number for number in range(6)]
    assert {epoch for epoch, _ in attempts(w)} == {0}
    retried = attempts(w)[6:]
    assert retried == sorted(retried)


def test_batch_rejected_out_of_order_after_another_keeps_its_identity(world):
    """PRD-IDM-08."""
    w = one_by_one(world)
    w.brokers.fates(NOT_ENOUGH, OUT_OF_ORDER)
    w.settle(*[w.send() for _ in range(2)])
    assert attempts(w) == [(0, 0), (0, 1), (0, 2), (0, 1), (0, 2)]
    assert w.brokers.values() == [b"v0", b"v1", b"v2"]


def test_next_expected_batch_rejected_out_of_order_bumps_the_epoch(world):
    """PRD-IDM-09, KIP-360: the client bumps the epoch without a broker, and the producer continues."""
    w = one_by_one(world)
    w.brokers.fates(OUT_OF_ORDER)
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert attempts(w) == [(0, 0), (0, 1), (1, 0)]
    assert len(w.brokers.requests(Api.INIT_PRODUCER_ID)) == 1
    assert [event.bumped_locally for event in w.told(ProducerIdAssigned)] == [False, True]
    w.settle(w.send())
    assert attempts(w)[-1] == (1, 1)


def test_other_partitions_bump_the_epoch_once_their_batches_complete(world):
    """PRD-IDM-10."""
    w = world(batch_size=0, linger_ms=0, request_timeout_ms=500)
    w.settle(w.send(partition=0), w.send(partition=1))
    (refused,) = [w.send(partition=0)]
    left = iter([OUT_OF_ORDER])
    w.brokers.script = lambda seen: (
        next(left, None) if seen.api is Api.PRODUCE and b"v2" in seen.produced[0][1] else None
    )
    w.settle(refused)
    assert attempts(w, 0)[-1] == (1, 0)
    assert attempts(w, 1) == [(0, 0)]
    w.settle(w.send(partition=1))
    assert attempts(w, 1) == [(0, 0), (1, 0)]


def test_partition_with_batch_in_doubt_keeps_its_epoch(world):
    """PRD-IDM-10: the batch in flight under the old epoch is retried under it."""
    w = world(batch_size=0, linger_ms=0)
    w.settle(w.send(partition=0), w.send(partition=1))
    left = {0: iter([OUT_OF_ORDER]), 1: iter([NOT_ENOUGH, NOT_ENOUGH, NOT_ENOUGH])}

    def script(seen):
        if seen.api is not Api.PRODUCE:
            return None
        partitions = [partition for partition, _ in seen.produced]
        return next(left[partitions[0]], None) if len(partitions) == 1 else None

    w.brokers.script = script
    slow = w.send(partition=1)
    w.run(10)
    quick = w.send(partition=0)
    w.settle(quick, slow)
    assert attempts(w, 0)[-1] == (1, 0)
    assert attempts(w, 1)[-1] == (0, 1)
    w.settle(w.send(partition=1))
    assert attempts(w, 1)[-1] == (1, 0)


@pytest.mark.parametrize(("log_start", "expected"), [(-1, (0, 1)), (0, (1, 0))])
def test_unknown_producer_id_is_retried_with_known_log_start(world, log_start, expected):
    """PRD-IDM-12."""
    w = one_by_one(world)
    w.cluster.expire_producers(0)
    w.cluster.inject_error(Api.PRODUCE, UNKNOWN_PRODUCER, 1)
    asked = len(w.brokers.requests())
    w.brokers.script = lambda seen: (
        seen.tell(log_start_offset=log_start) if len(w.brokers.requests()) == asked + 1 else None
    )
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert attempts(w)[-1] == expected
    assert w.brokers.values() == [b"v0", b"v1"]


def test_expired_stored_batch_blocks_its_partition_until_resolved(world):
    """PRD-EXP-06: the batch was stored, as the next batch's success shows. The epoch is unchanged, without a gap."""
    w = one_by_one(world, request_timeout_ms=2_900, delivery_timeout_ms=3_000)
    w.brokers.fates(then="hold")
    first = w.send()
    w.run(500)
    second = w.send()
    w.run(2_499)
    assert not first.is_done
    w.run(1)
    assert first.error.outcome is Outcome.INFO
    w.brokers.fates()
    third = w.send()
    w.settle(second, third)
    assert w.told(SequenceUnresolved)
    assert {epoch for epoch, _ in attempts(w)} == {0}
    assert [event.continued for event in w.told(SequenceResolved)] == [True]
    assert w.brokers.values() == [b"v0", b"v1", b"v2", b"v3"]


def test_expired_batch_that_was_not_stored_bumps_the_epoch(world):
    """PRD-EXP-06, PRD-IDM-13."""
    w = one_by_one(world, request_timeout_ms=1_000, delivery_timeout_ms=1_500)
    w.brokers.fates(then="lose")
    lost = w.send()
    w.settle(lost)
    assert lost.error.outcome is Outcome.INFO
    w.brokers.fates()
    found = w.send()
    w.settle(found)
    assert attempts(w)[-1] == (1, 0)
    assert [event.continued for event in w.told(SequenceResolved)] == [False]
    assert w.brokers.values() == [b"v0", b"v2"]


def test_unsent_batch_leaves_no_sequence_gap(world):
    """PRD-EXP-07."""
    w = one_by_one(world, request_timeout_ms=1_000, delivery_timeout_ms=1_500)
    w.refuse()
    w.run(1)
    expired = w.send()
    w.settle(expired)
    assert expired.error.outcome is Outcome.FAIL
    w.accept()
    w.settle(w.send())
    assert attempts(w) == [(0, 0), (0, 1)]


def test_permanently_rejected_batch_restarts_the_following_ones(world):
    """PRD-IDM-13: its numbers are missing, so all following batches get new ones, and no record is stored twice."""
    w = one_by_one(world)
    w.brokers.fates(BY_NAME["MESSAGE_TOO_LARGE"].code)
    refused, *behind = [w.send() for _ in range(4)]
    w.settle(refused, *behind)
    assert (refused.error.name, refused.error.outcome) == ("MESSAGE_TOO_LARGE", Outcome.FAIL)
    assert [delivery.error for delivery in behind] == [None] * 3
    assert w.brokers.values() == [b"v0", b"v2", b"v3", b"v4"]


def test_batch_in_doubt_is_never_given_a_second_identity(world):
    """The second batch is stored and its response is lost, while the first one fails permanently.

    The second batch must learn its outcome under its old identity before the epoch is bumped. Otherwise it would be
    stored twice.
    """
    w = world(batch_size=0, linger_ms=0, request_timeout_ms=500)
    w.settle(w.send())
    w.cluster.expire_producers(0)  # as after producer.id.expiration.ms: any sequence is accepted
    w.brokers.fates(BY_NAME["MESSAGE_TOO_LARGE"].code, "hold")
    refused, stored = w.send(), w.send()
    w.settle(refused, stored)
    assert refused.error.name == "MESSAGE_TOO_LARGE"
    assert stored.error is None
    assert w.brokers.values() == [b"v0", b"v2"]
    assert attempts(w)[-1] == (0, 2)
    w.settle(w.send())
    assert attempts(w)[-1][0] == 1


def test_idle_producer_continues_after_the_broker_dropped_its_state(world):
    """PRD-IDM-15."""
    w = one_by_one(world)
    w.settle(w.send())
    w.cluster.expire_producers(0)
    delivery = w.send()
    w.settle(delivery)
    assert delivery.metadata.offset == 2
    assert attempts(w) == [(0, 0), (0, 1), (0, 2)]


def test_resend_by_the_application_is_a_new_record(world):
    """PRD-IDM-16: idempotence applies to batches, not to the application's own retries."""
    w = one_by_one(world, request_timeout_ms=1_000, delivery_timeout_ms=1_500)
    w.brokers.fates(then="hold")
    first = w.send(value=b"order")
    w.settle(first)
    assert first.error.outcome is Outcome.INFO
    w.brokers.fates()
    w.settle(w.send(value=b"order"))
    assert w.brokers.values() == [b"v0", b"order", b"order"]
