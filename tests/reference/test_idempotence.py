"""Producer ids, epochs and sequences, against brokers that check them as Kafka's do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clients.reference.errors import BrokerError
from clients.reference.producer_batch import ProducerId
from clients.reference.states import ProducerIdState
from clients.reference.trace import BatchSent, ProducerIdAssigned, SequenceResolved, SequenceUnresolved
from harness.outcome import Outcome
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME

OUT_OF_ORDER = BY_NAME["OUT_OF_ORDER_SEQUENCE_NUMBER"].code
UNKNOWN_PRODUCER = BY_NAME["UNKNOWN_PRODUCER_ID"].code
NOT_ENOUGH = BY_NAME["NOT_ENOUGH_REPLICAS"].code


def produces(cluster):
    return cluster.requests(Api.PRODUCE)


def attempts(w, partition=0):
    """(epoch, base sequence) of every attempt for a partition, in order."""
    sent = [event for event in w.of(BatchSent) if event.batch.startswith(f"t-{partition}#")]
    return [(event.producer_epoch, event.base_sequence) for event in sent]


def one_by_one(world, **settings):
    """A producer of one-record batches that has got its first acknowledgement, so that several may be in flight."""
    w = world(batch_size=0, linger_ms=0, **settings)
    w.settle(w.send())
    return w


def from_now(cluster, *verdicts):
    left = iter(verdicts)
    cluster.script = lambda seen: next(left, None) if seen.api is Api.PRODUCE else None


def test_an_identity_is_obtained_first_and_stamped_on_every_batch(world, cluster):
    """PRD-IDM-01."""
    w = world()
    w.settle(w.send(), w.send(partition=1))
    (asked,) = cluster.requests(Api.INIT_PRODUCER_ID)
    assert asked.body.transactional_id is None
    assert asked.body.transaction_timeout.total_seconds() * 1000 == 2**31 - 1
    assert {(h.producer_id, h.producer_epoch) for s in produces(cluster) for h in s.batches} == {(4_000, 0)}


@pytest.mark.parametrize("highest", range(6))
def test_every_version_of_init_producer_id_is_spoken(world, cluster, highest):
    cluster.versions[Api.INIT_PRODUCER_ID] = (0, highest)
    w = world()
    w.settle(w.send())
    assert [seen.version for seen in cluster.requests(Api.INIT_PRODUCER_ID)] == [highest]


def test_without_idempotence_there_is_none(world, cluster):
    w = world(enable_idempotence=False)
    w.settle(w.send())
    assert cluster.requests(Api.INIT_PRODUCER_ID) == []
    assert [(h.producer_id, h.base_sequence) for s in produces(cluster) for h in s.batches] == [(-1, -1)]


def test_the_question_for_an_identity_is_repeated(world, cluster):
    verdicts = iter(["close-before", 14, 15, 51])
    cluster.script = lambda seen: next(verdicts, None) if seen.api is Api.INIT_PRODUCER_ID else None
    w = world()
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert len(cluster.requests(Api.INIT_PRODUCER_ID)) == 5


def test_a_refused_identity_is_the_end_of_the_producer(world, cluster):
    cluster.script = lambda seen: 31 if seen.api is Api.INIT_PRODUCER_ID else None
    w = world()
    first = w.send()
    w.settle(first)
    later = w.send()
    assert [type(d.error) for d in (first, later)] == [BrokerError] * 2
    assert {(d.error.name, d.error.outcome) for d in (first, later)} == {
        ("CLUSTER_AUTHORIZATION_FAILED", Outcome.FAIL)
    }
    assert produces(cluster) == []
    w.core.close(w.now_ms)
    w.run_until(lambda: w.core.is_closed, limit_ms=100)


def test_sequences_count_records_and_wrap(world, cluster):
    """PRD-IDM-02: 2147483647 is followed by 0."""
    w = world(linger_ms=20)
    w.settle(*[w.send() for _ in range(3)])
    entry = w.core._transactions._sequences["t", 0]
    entry.next_sequence, entry.last_acked_sequence = 2**31 - 2, 2**31 - 3
    cluster.log("t").remembered.clear()
    w.settle(*[w.send() for _ in range(3)])
    w.settle(*[w.send() for _ in range(2)])
    assert attempts(w) == [(0, 0), (0, 2**31 - 2), (0, 1)]
    assert cluster.log("t").next_offset == 8


def test_one_batch_until_the_first_is_acknowledged_then_five(world, cluster):
    """PRD-IDM-04."""
    cluster.latency_ms = 50
    w = world(batch_size=0, linger_ms=0, max_in_flight_requests_per_connection=5)
    deliveries = [w.send() for _ in range(12)]
    counts = []

    def first_is_done():
        counts.append(w.core._client._in_flight.count(1))
        return deliveries[0].is_done

    w.run_until(first_is_done)
    assert max(counts[:-1]) == 1
    w.run_for(1)
    assert w.core._client._in_flight.count(1) == 5
    w.settle(*deliveries)
    assert cluster.log("t").next_offset == 12


def test_a_duplicate_is_a_success_with_its_first_offset(world, cluster):
    """PRD-IDM-05."""
    w = one_by_one(world, request_timeout_ms=500)
    from_now(cluster, "hold")
    delivery = w.send()
    w.settle(delivery)
    assert delivery.metadata.offset == 1
    assert cluster.log("t").next_offset == 2
    assert attempts(w) == [(0, 0), (0, 1), (0, 1)]


def test_a_forgotten_duplicate_is_a_success_without_offset(world, cluster):
    """PRD-IDM-06."""
    from_now(cluster, BY_NAME["DUPLICATE_SEQUENCE_NUMBER"].code)
    w = world()
    delivery = w.send()
    w.settle(delivery)
    assert delivery.metadata.offset == -1


@pytest.mark.parametrize("fate", [NOT_ENOUGH, 7, 6, 2, "hold", "lose", "close-after", "close-before"])
def test_a_failure_in_the_middle_is_repaired_in_order(world, cluster, fate):
    """PRD-IDM-07, -08: the ones behind are refused too, and go again only after the lowest."""
    w = one_by_one(world, request_timeout_ms=500)
    from_now(cluster, None, fate)
    w.settle(*[w.send() for _ in range(5)])
    assert cluster.log("t").values == [b"v%d" % number for number in range(6)]
    assert {epoch for epoch, _ in attempts(w)} == {0}
    retried = attempts(w)[6:]
    assert retried == sorted(retried)


def test_a_batch_refused_out_of_order_behind_another_keeps_its_identity(world, cluster):
    """PRD-IDM-08."""
    w = one_by_one(world)
    from_now(cluster, NOT_ENOUGH, OUT_OF_ORDER)
    w.settle(*[w.send() for _ in range(2)])
    assert attempts(w) == [(0, 0), (0, 1), (0, 2), (0, 1), (0, 2)]
    assert cluster.log("t").values == [b"v0", b"v1", b"v2"]


def test_the_next_expected_batch_refused_out_of_order_raises_the_epoch(world, cluster):
    """PRD-IDM-09, KIP-360: without asking a broker; the producer lives on."""
    w = one_by_one(world)
    from_now(cluster, OUT_OF_ORDER)
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert attempts(w) == [(0, 0), (0, 1), (1, 0)]
    assert len(cluster.requests(Api.INIT_PRODUCER_ID)) == 1
    assert [event.bumped_locally for event in w.of(ProducerIdAssigned)] == [False, True]
    w.settle(w.send())
    assert attempts(w)[-1] == (1, 1)


def test_other_partitions_follow_when_their_own_batches_are_settled(world, cluster):
    """PRD-IDM-10."""
    w = world(batch_size=0, linger_ms=0, request_timeout_ms=500)
    w.settle(w.send(partition=0), w.send(partition=1))
    (refused,) = [w.send(partition=0)]
    left = iter([OUT_OF_ORDER])
    cluster.script = lambda seen: (
        next(left, None) if seen.api is Api.PRODUCE and b"v2" in seen.frame else None
    )
    w.settle(refused)
    assert attempts(w, 0)[-1] == (1, 0)
    assert attempts(w, 1) == [(0, 0)]
    w.settle(w.send(partition=1))
    assert attempts(w, 1) == [(0, 0), (1, 0)]


def test_a_partition_with_a_batch_in_doubt_keeps_its_epoch_while_another_restarts(world, cluster):
    """PRD-IDM-10: the batch in flight under the old epoch is retried under it."""
    w = world(batch_size=0, linger_ms=0)
    w.settle(w.send(partition=0), w.send(partition=1))
    left = {0: iter([OUT_OF_ORDER]), 1: iter([NOT_ENOUGH, NOT_ENOUGH, NOT_ENOUGH])}

    def script(seen):
        if seen.api is not Api.PRODUCE:
            return None
        partitions = {
            index for topic in seen.body.topic_data for index in [p.index for p in topic.partition_data]
        }
        return next(left[partitions.pop()], None) if len(partitions) == 1 else None

    cluster.script = script
    slow = w.send(partition=1)
    w.run_for(10)
    quick = w.send(partition=0)
    w.settle(quick, slow)
    assert attempts(w, 0)[-1] == (1, 0)
    assert attempts(w, 1)[-1] == (0, 1)
    w.settle(w.send(partition=1))
    assert attempts(w, 1)[-1] == (1, 0)


def test_the_last_epoch_is_followed_by_a_new_producer_id(world, cluster):
    """PRD-IDM-11."""
    cluster.next_producer_id = (4_000, 32_767)
    w = one_by_one(world)
    from_now(cluster, OUT_OF_ORDER)
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert len(cluster.requests(Api.INIT_PRODUCER_ID)) == 2
    sent = [(e.producer_id, e.producer_epoch, e.base_sequence) for e in w.of(BatchSent)]
    assert sent == [(4_000, 32_767, 0), (4_000, 32_767, 1), (4_001, 0, 0)]
    w.settle(w.send(partition=1))


@pytest.mark.parametrize(("log_start", "expected"), [(-1, (0, 1)), (0, (1, 0))])
def test_an_unknown_producer_retries_and_restarts_if_the_log_start_is_known(
    world, cluster, log_start, expected
):
    """PRD-IDM-12."""
    w = one_by_one(world)
    left = iter([None])

    def unknown(seen):
        if seen.api is not Api.PRODUCE or next(left, "done") == "done":
            return None

        def change(body):
            (topic,) = body.responses
            (partition,) = topic.partition_responses
            code = type(partition.error_code)(UNKNOWN_PRODUCER)
            partition = replace(partition, error_code=code, base_offset=-1, log_start_offset=log_start)
            return replace(body, responses=(replace(topic, partition_responses=(partition,)),))

        cluster.log("t").remembered.clear()
        return cluster.edit(seen, change)

    cluster.script = unknown
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert attempts(w)[-1] == expected


def test_a_sent_batch_that_expires_stops_its_partition_until_the_chain_is_whole_again(world, cluster):
    """PRD-EXP-06: stored after all, as the next batch's success shows; same epoch, no gap."""
    w = one_by_one(world, request_timeout_ms=2_900, delivery_timeout_ms=3_000)
    cluster.script = lambda seen: "hold" if seen.api is Api.PRODUCE else None
    first = w.send()
    w.run_for(500)
    second = w.send()
    w.run_for(2_499)
    assert not first.is_done
    w.run_for(1)
    assert first.error.outcome is Outcome.INFO
    cluster.script = lambda seen: None
    third = w.send()
    w.settle(second, third)
    assert w.of(SequenceUnresolved)
    assert {epoch for epoch, _ in attempts(w)} == {0}
    assert [event.continued for event in w.of(SequenceResolved)] == [True]
    assert cluster.log("t").values == [b"v0", b"v1", b"v2", b"v3"]


def test_a_sent_batch_that_expires_and_was_not_stored_raises_the_epoch(world, cluster):
    """PRD-EXP-06, PRD-IDM-13."""
    w = one_by_one(world, request_timeout_ms=1_000, delivery_timeout_ms=1_500)
    cluster.script = lambda seen: "lose" if seen.api is Api.PRODUCE else None
    lost = w.send()
    w.settle(lost)
    assert lost.error.outcome is Outcome.INFO
    cluster.script = lambda seen: None
    found = w.send()
    w.settle(found)
    assert attempts(w)[-1] == (1, 0)
    assert [event.continued for event in w.of(SequenceResolved)] == [False]
    assert cluster.log("t").values == [b"v0", b"v2"]


def test_a_batch_that_was_never_sent_leaves_no_gap(world, cluster):
    """PRD-EXP-07."""
    w = one_by_one(world, request_timeout_ms=1_000, delivery_timeout_ms=1_500)
    cluster.accepts = lambda node: "refused"
    cluster.drop(1)
    w.run_for(1)
    expired = w.send()
    w.settle(expired)
    assert expired.error.outcome is Outcome.FAIL
    cluster.accepts = lambda node: None
    w.settle(w.send())
    assert attempts(w) == [(0, 0), (0, 1)]


def test_a_batch_refused_for_good_restarts_the_ones_behind_it(world, cluster):
    """PRD-IDM-13: its numbers are missing, so all that follow get new ones, and nobody is stored twice."""
    w = one_by_one(world)
    from_now(cluster, BY_NAME["MESSAGE_TOO_LARGE"].code)
    refused, *behind = [w.send() for _ in range(4)]
    w.settle(refused, *behind)
    assert (refused.error.name, refused.error.outcome) == ("MESSAGE_TOO_LARGE", Outcome.FAIL)
    assert [delivery.error for delivery in behind] == [None] * 3
    assert cluster.log("t").values == [b"v0", b"v2", b"v3", b"v4"]


def test_a_batch_in_doubt_is_never_given_a_second_identity(world, cluster):
    """The second batch is stored and its answer lost, while the first is refused for good: it must learn its fate
    under its old identity before the epoch is raised, else it would be stored twice."""
    w = world(batch_size=0, linger_ms=0, request_timeout_ms=500)
    w.settle(w.send())
    cluster.log("t").remembered.clear()  # as after producer.id.expiration.ms: any sequence is taken
    from_now(cluster, BY_NAME["MESSAGE_TOO_LARGE"].code, "hold")
    refused, stored = w.send(), w.send()
    w.settle(refused, stored)
    assert refused.error.name == "MESSAGE_TOO_LARGE"
    assert stored.error is None
    assert cluster.log("t").values == [b"v0", b"v2"]
    assert attempts(w)[-1] == (0, 2)
    w.settle(w.send())
    assert attempts(w)[-1][0] == 1


def test_an_idle_producer_whose_state_the_broker_dropped_goes_on(world, cluster):
    """PRD-IDM-15."""
    w = one_by_one(world)
    w.settle(w.send())
    cluster.log("t").remembered.clear()
    delivery = w.send()
    w.settle(delivery)
    assert delivery.metadata.offset == 2
    assert attempts(w) == [(0, 0), (0, 1), (0, 2)]


def test_an_old_epoch_is_refused_and_left(world, cluster):
    """PRD-IDM-14: another producer has our id with a higher epoch; the record fails, the next goes under a new one."""
    w = one_by_one(world)
    remembered = cluster.log("t").remembered[4_000]
    remembered.append((1, 0, 0, 1))
    refused = w.send()
    w.settle(refused)
    assert (refused.error.name, refused.error.outcome) == ("INVALID_PRODUCER_EPOCH", Outcome.FAIL)
    assert w.core._transactions.state is ProducerIdState.READY


def test_sending_again_after_a_reported_failure_is_another_record(world, cluster):
    """PRD-IDM-16: idempotence knows batches, not what the application means by them."""
    w = one_by_one(world, request_timeout_ms=1_000, delivery_timeout_ms=1_500)
    cluster.script = lambda seen: "hold" if seen.api is Api.PRODUCE else None
    first = w.send(value=b"order")
    w.settle(first)
    assert first.error.outcome is Outcome.INFO
    cluster.script = lambda seen: None
    w.settle(w.send(value=b"order"))
    assert cluster.log("t").values == [b"v0", b"order", b"order"]


@pytest.mark.parametrize("error", ["CLUSTER_AUTHORIZATION_FAILED", "PRODUCER_FENCED"])
def test_a_fatal_refusal_takes_everything_with_it(world, cluster, error):
    """What is queued and in flight ends, a batch that may be stored as unknown; nothing is ever sent again."""
    w = one_by_one(world)
    from_now(cluster, BY_NAME[error].code)
    deliveries = [w.send(partition=partition) for partition in (0, 0, 1, 2)]
    w.settle(*deliveries)
    assert {delivery.error.name for delivery in deliveries if delivery.error} == {error}
    assert w.core._transactions.state is ProducerIdState.FATAL_ERROR
    before = len(produces(cluster))
    later = w.send()
    w.run_for(1_000)
    assert later.error.name == error
    assert len(produces(cluster)) == before
    assert w.core.not_at_rest() == []


def test_identities_are_values():
    assert ProducerId(1, 2) == ProducerId(1, 2)
    assert not ProducerId().is_valid
