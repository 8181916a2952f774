"""The producer's identity: how it is obtained, bumped and lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from clients.reference.errors import BrokerError
from clients.reference.producer.producer_batch import ProducerId
from clients.reference.states import ProducerIdState
from clients.reference.telemetry.trace import BatchSent
from harness.model.verdicts import Outcome
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME
from harness.wire.messages import encode_request, make, message_class, nested
from harness.wire.records import BatchBuilder

OUT_OF_ORDER = BY_NAME["OUT_OF_ORDER_SEQUENCE_NUMBER"].code


def one_by_one(world, **settings):
    """Return a producer of one-record batches with one acknowledged batch, so that several may be in flight."""
    w = world(batch_size=0, linger_ms=0, **settings)
    w.settle(w.send())
    return w


def test_identity_is_obtained_first_and_stamped_on_every_batch(world):
    """PRD-IDM-01."""
    w = world()
    w.settle(w.send(), w.send(partition=1))
    (asked,) = w.brokers.requests(Api.INIT_PRODUCER_ID)
    assert asked.body.transactional_id is None
    assert asked.body.transaction_timeout.total_seconds() * 1000 == 2**31 - 1
    assert {(h.producer_id, h.producer_epoch) for s in w.brokers.requests() for h in s.batches} == {(0, 0)}


@pytest.mark.parametrize("highest", range(6))
def test_every_init_producer_id_version_works(world, highest):
    w = world()
    w.brokers.offer(Api.INIT_PRODUCER_ID, 0, highest)
    w.settle(w.send())
    assert [seen.version for seen in w.brokers.requests(Api.INIT_PRODUCER_ID)] == [highest]


def test_without_idempotence_there_is_no_identity(world):
    w = world(enable_idempotence=False)
    w.settle(w.send())
    assert w.brokers.requests(Api.INIT_PRODUCER_ID) == []
    assert [(h.producer_id, h.base_sequence) for s in w.brokers.requests() for h in s.batches] == [(-1, -1)]


def test_init_producer_id_is_retried(world):
    w = world()
    w.brokers.fates("close-before", 14, 15, 51, api=Api.INIT_PRODUCER_ID)
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert len(w.brokers.requests(Api.INIT_PRODUCER_ID)) == 5


@pytest.mark.parametrize("error", ["CLUSTER_AUTHORIZATION_FAILED", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"])
def test_rejected_identity_fails_waiting_batches_and_is_requested_again(world, error):
    """KAFKA-13668, SenderTest#testClusterAuthorizationExceptionInInitProducerIdRequest."""
    w = world()
    w.brokers.fates(BY_NAME[error].code, api=Api.INIT_PRODUCER_ID)
    refused = [w.send(), w.send(partition=1)]
    w.settle(*refused)
    assert [type(delivery.error) for delivery in refused] == [BrokerError] * 2
    assert {(each.error.name, each.error.outcome) for each in refused} == {(error, Outcome.FAIL)}
    assert w.brokers.requests() == []
    later = w.send()
    w.settle(later)
    assert later.error is None
    first, second = w.brokers.requests(Api.INIT_PRODUCER_ID)
    assert second.at_ms - first.at_ms >= 0.8 * 100  # retry.backoff.ms with its jitter
    assert w.core.not_at_rest() == []


def test_permanently_rejected_identity_does_not_block_close(world):
    w = world()
    w.brokers.fates(then=31, api=Api.INIT_PRODUCER_ID)
    for _ in range(2):
        delivery = w.send()
        w.settle(delivery)
        assert delivery.error.name == "CLUSTER_AUTHORIZATION_FAILED"
    assert w.brokers.requests() == []
    w.core.close(w.now_ms)
    w.until(lambda: w.core.is_closed, limit_ms=100)


def test_rejection_after_the_last_epoch_leaves_no_batch_behind(world):
    """The batches of the old identity end with the others, in flight or not. The new one starts without them."""
    w = world(batch_size=0, linger_ms=0)
    answers = iter(("last epoch", "refused"))

    def script(seen):
        if seen.api is not Api.INIT_PRODUCER_ID:
            return OUT_OF_ORDER if len(w.brokers.requests()) == 2 else None
        answer = next(answers, None)
        if answer == "refused":
            return BY_NAME["CLUSTER_AUTHORIZATION_FAILED"].code
        return seen.edit(lambda body: replace(body, producer_epoch=32_767)) if answer else None

    w.brokers.script = script
    w.settle(w.send())
    ended = [w.send(), w.send(), w.send(partition=1)]
    w.settle(*ended)
    assert "CLUSTER_AUTHORIZATION_FAILED" in {each.error.name for each in ended if each.error}
    later = [w.send(), w.send(), w.send(partition=1)]
    w.settle(*later)
    assert [delivery.error for delivery in later] == [None] * 3
    assert {(e.producer_id, e.producer_epoch) for e in w.told(BatchSent)[-3:]} == {(1, 0)}
    assert w.core.not_at_rest() == []


def test_last_epoch_is_followed_by_a_new_producer_id(world):
    """PRD-IDM-11."""
    w = world(batch_size=0, linger_ms=0)
    w.brokers.script = lambda seen: (
        seen.edit(lambda body: replace(body, producer_epoch=32_767))
        if seen.api is Api.INIT_PRODUCER_ID
        else None
    )
    w.settle(w.send())
    w.brokers.fates(OUT_OF_ORDER)
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert len(w.brokers.requests(Api.INIT_PRODUCER_ID)) == 2
    sent = [(e.producer_id, e.producer_epoch, e.base_sequence) for e in w.told(BatchSent)]
    assert sent == [(0, 32_767, 0), (0, 32_767, 1), (1, 0, 0)]
    w.settle(w.send(partition=1))


def produce(w, producer_id, epoch):
    """Write as another producer under this identity."""
    builder = BatchBuilder()
    builder.append(0, None, b"another's")
    request_class = message_class(Api.PRODUCE, 12, "request")
    records = builder.build(producer_id, epoch, 0)
    part = make(nested(request_class, "PartitionProduceData"), index=0, records=records)
    topic = make(nested(request_class, "TopicProduceData"), name="t", partition_data=(part,))
    request = make(
        request_class, transactional_id=None, acks=-1, timeout=timedelta(seconds=1), topic_data=(topic,)
    )
    w.cluster.handle(1, 0, encode_request(request, 0, None)[4:], w.scheduler.now_ns)
    assert w.brokers.values()[-1] == b"another's"


def test_fenced_epoch_is_replaced(world):
    """PRD-IDM-14: another producer has the same id with a higher epoch. The record fails, the next uses a new id."""
    w = one_by_one(world)
    produce(w, producer_id=0, epoch=1)
    refused = w.send()
    w.settle(refused)
    assert (refused.error.name, refused.error.outcome) == ("INVALID_PRODUCER_EPOCH", Outcome.FAIL)
    assert w.transactions.state is ProducerIdState.READY


@pytest.mark.parametrize("error", ["CLUSTER_AUTHORIZATION_FAILED", "PRODUCER_FENCED"])
def test_fatal_error_ends_all_batches(world, error):
    """All batches end, queued or in flight, those that may be stored as unknown. Nothing is sent again."""
    w = one_by_one(world)
    w.brokers.fates(BY_NAME[error].code)
    deliveries = [w.send(partition=partition) for partition in (0, 0, 1, 2)]
    w.settle(*deliveries)
    assert {delivery.error.name for delivery in deliveries if delivery.error} == {error}
    assert w.transactions.state is ProducerIdState.FATAL_ERROR
    before = len(w.brokers.requests())
    later = w.send()
    w.run(1_000)
    assert later.error.name == error
    assert len(w.brokers.requests()) == before
    assert w.core.not_at_rest() == []


def test_identities_compare_by_value():
    assert ProducerId(1, 2) == ProducerId(1, 2)
    assert not ProducerId().is_valid
