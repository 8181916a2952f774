"""What becomes of a batch whose attempt failed: again, later, in order, the same bytes; or the end, in time."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import pairwise
from uuid import UUID

import pytest

from clients.reference.errors import BrokerError, ProducerClosedError, TimeoutError
from clients.reference.ports import Node
from clients.reference.trace import BatchExpired, BatchRetried, Misbehaved
from harness.outcome import Outcome
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME, ERRORS


def produces(cluster):
    return cluster.requests(Api.PRODUCE)


def fates(*verdicts):
    """The fates of the Produce requests, in turn; afterwards all is well."""
    left = iter(verdicts)
    return lambda seen: next(left, None) if seen.api is Api.PRODUCE else None


def code(name):
    return BY_NAME[name].code


RETRIABLE = [error.code for error in ERRORS.values() if error.retriable]
# What an idempotent producer answers in other ways than by its retriable flag is in test_idempotence.
FINAL = [
    error.code
    for error in ERRORS.values()
    if not error.retriable and error.name not in ("NONE", "DUPLICATE_SEQUENCE_NUMBER")
]


@pytest.mark.parametrize("error", RETRIABLE)
@pytest.mark.parametrize("idempotent", [True, False])
def test_a_retriable_error_sends_the_same_bytes_again(world, cluster, error, idempotent):
    """PRD-SND-02, PRD-SND-08, PRD-SND-09: identical but for the request header."""
    cluster.script = fates(error, error)
    w = world(enable_idempotence=idempotent)
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert len(produces(cluster)) == 3
    assert len({seen.payloads[0] for seen in produces(cluster)}) == 1
    assert len({seen.correlation_id for seen in produces(cluster)}) == 3


@pytest.mark.parametrize("error", FINAL)
def test_any_other_error_is_the_end_at_once(world, cluster, error):
    """PRD-SND-03; the outcome is the error table's."""
    cluster.script = fates(error)
    w = world(enable_idempotence=False)
    delivery = w.send()
    w.settle(delivery)
    assert len(produces(cluster)) == 1
    assert isinstance(delivery.error, BrokerError)
    assert delivery.error.name == ERRORS[error].name
    definite = ERRORS[error].produced == "definite"
    assert delivery.error.outcome is (Outcome.FAIL if definite else Outcome.INFO)


def test_retries_wait_longer_and_longer(world, cluster):
    """PRD-ACC-04: the backoff instead of the linger."""
    cluster.script = fates(*[code("REQUEST_TIMED_OUT")] * 6)
    w = world(linger_ms=3_000)
    w.settle(w.send())
    times = [seen.at_ms for seen in produces(cluster)]
    assert [b - a - 2 for a, b in pairwise(times)] == [100, 200, 400, 800, 1_000, 1_000]


def test_retries_are_counted(world, cluster):
    cluster.script = lambda seen: code("NOT_ENOUGH_REPLICAS") if seen.api is Api.PRODUCE else None
    w = world(retries=2, enable_idempotence=False)
    delivery = w.send()
    w.settle(delivery)
    assert len(produces(cluster)) == 3
    assert (delivery.error.name, delivery.error.outcome) == ("NOT_ENOUGH_REPLICAS", Outcome.FAIL)


def test_a_definite_end_after_an_unknown_attempt_is_unknown(world, cluster):
    cluster.script = fates("hold", code("TOPIC_AUTHORIZATION_FAILED"))
    w = world(enable_idempotence=False, request_timeout_ms=500)
    delivery = w.send()
    w.settle(delivery)
    assert (delivery.error.name, delivery.error.outcome) == ("TOPIC_AUTHORIZATION_FAILED", Outcome.INFO)
    assert cluster.log("t").next_offset == 1  # and so it was


@pytest.mark.parametrize(
    ("fate", "name"), [("close-after", "NETWORK_EXCEPTION"), ("hold", "REQUEST_TIMED_OUT")]
)
def test_a_lost_answer_is_retried_and_named(world, cluster, fate, name):
    """NET-TMO-03, PRD-SND-06: without idempotence the record is stored twice, with it once."""
    for idempotent, copies in ((False, 2), (True, 1)):
        cluster.logs.clear()
        cluster.script = fates(fate)
        w = world(enable_idempotence=idempotent, request_timeout_ms=500)
        delivery = w.send()
        w.settle(delivery)
        assert delivery.error is None
        assert cluster.log("t").next_offset == copies
        assert [event.error for event in w.of(BatchRetried)] == [name]


def test_each_partition_of_an_answer_is_handled_by_itself(world, cluster):
    """PRD-SND-04."""
    topic_id, partitions = cluster.topics["t"]
    cluster.brokers[2] = Node(2, "b2", 9092)
    w = world()
    w.settle(w.send(partition=0), w.send(partition=1))
    cluster.topics["t"] = (topic_id, partitions | {1: (2, 1)})
    well, moved = w.send(partition=0), w.send(partition=1)
    w.settle(well)
    assert not moved.is_done
    w.settle(moved)
    assert moved.error is None


def test_an_answer_that_leaves_a_batch_out_leaves_it_to_its_timeout(world, cluster):
    """PRD-SND-05: neither completed nor retried."""
    w = world(enable_idempotence=False, delivery_timeout_ms=2_000, request_timeout_ms=500)
    w.settle(w.send())
    cluster.script = lambda seen: (
        cluster.edit(seen, lambda body: replace(body, responses=()))
        if seen.api is Api.PRODUCE and len(produces(cluster)) == 2
        else None
    )
    start_ms = w.now_ms
    delivery = w.send()
    w.settle(delivery)
    assert w.now_ms == start_ms + 2_000
    assert isinstance(delivery.error, TimeoutError)
    assert delivery.error.outcome is Outcome.INFO
    assert len(produces(cluster)) == 2
    w.settle(w.send())


def test_an_answer_for_a_partition_that_was_not_asked_is_told_and_ignored(world, cluster):
    """PRD-SND-05."""

    def misplaced(body):
        (topic,) = body.responses
        extra = replace(topic.partition_responses[0], index=2)
        return replace(
            body, responses=(replace(topic, partition_responses=(*topic.partition_responses, extra)),)
        )

    cluster.script = lambda seen: cluster.edit(seen, misplaced) if seen.api is Api.PRODUCE else None
    w = world()
    delivery = w.send()
    w.settle(delivery)
    assert delivery.metadata.offset == 0
    assert [event.what for event in w.of(Misbehaved)] == ["answered for t-2, which was not asked"]


@pytest.mark.parametrize("version", [7, 8, 12, 13])
def test_records_that_the_broker_named_get_their_own_error(world, cluster, version):
    """PRD-SND-12, KIP-467; before Produce 8 there are none."""
    cluster.versions[Api.PRODUCE] = (0, version)

    def blame(body):
        module = sys.modules[type(body).__module__]
        (topic,) = body.responses
        (partition,) = topic.partition_responses
        named = {}
        if version >= 8:
            blamed = module.BatchIndexAndErrorMessage(batch_index=1, batch_index_error_message="no key")
            named = {"record_errors": (blamed,)}
        partition = replace(partition, error_code=type(partition.error_code)(87), base_offset=-1, **named)
        return replace(body, responses=(replace(topic, partition_responses=(partition,)),))

    cluster.script = lambda seen: cluster.edit(seen, blame) if seen.api is Api.PRODUCE else None
    w = world(linger_ms=50)
    deliveries = [w.send() for _ in range(3)]
    w.settle(*deliveries)
    assert {delivery.error.name for delivery in deliveries} == {"INVALID_RECORD"}
    assert [("no key" in str(delivery.error)) for delivery in deliveries] == [False, version >= 8, False]


# expiry


def test_a_queued_batch_expires_exactly_at_its_limit(world, cluster):
    """PRD-EXP-01, PRD-EXP-02, PRD-EXP-05: nobody listens; the core wakes by itself."""
    w = world(delivery_timeout_ms=3_000, request_timeout_ms=1_000)
    w.settle(w.send())
    cluster.accepts = lambda node: "refused"
    cluster.drop(1)
    w.run_for(1)
    start_ms = w.now_ms
    deliveries = [w.send() for _ in range(3)]
    w.settle(*deliveries)
    assert w.now_ms == start_ms + 3_000
    error = deliveries[0].error
    assert isinstance(error, TimeoutError)
    assert "3 record(s) for t-0" in str(error) and "3000 ms" in str(error)
    assert error.outcome is Outcome.FAIL  # never handed to a socket
    assert len(produces(cluster)) == 1


def test_a_batch_in_flight_expires_and_is_never_sent_again(world, cluster):
    """PRD-EXP-03: a late success is ignored, and the record may be stored."""
    w = world(delivery_timeout_ms=3_000, request_timeout_ms=2_900, enable_idempotence=False, linger_ms=0)
    w.settle(w.send())
    cluster.latency_ms = 2_000
    cluster.script = fates(code("NOT_ENOUGH_REPLICAS"))
    start_ms = w.now_ms
    delivery = w.send()
    w.settle(delivery)
    assert w.now_ms == start_ms + 3_000
    assert delivery.error.outcome is Outcome.INFO
    assert [event.was_in_flight for event in w.of(BatchExpired)] == [True]
    assert w.core._accumulator.pool.available_bytes < w.config.buffer_memory  # PRD-ACC-11: still on the wire
    w.run_for(10_000)
    assert len(produces(cluster)) == 3
    assert cluster.log("t").next_offset == 2
    assert delivery.error.outcome is Outcome.INFO
    assert w.core._accumulator.pool.available_bytes == w.config.buffer_memory


def test_refused_attempts_alone_leave_no_doubt_at_expiry(world, cluster):
    cluster.script = lambda seen: code("NOT_ENOUGH_REPLICAS") if seen.api is Api.PRODUCE else None
    w = world(delivery_timeout_ms=3_000, request_timeout_ms=1_000, enable_idempotence=False)
    delivery = w.send()
    w.settle(delivery)
    assert isinstance(delivery.error, TimeoutError)
    assert delivery.error.outcome is Outcome.FAIL


def test_a_batch_without_a_leader_ages_while_metadata_is_asked_for(world, cluster):
    """PRD-ACC-07."""
    w = world(delivery_timeout_ms=3_000, request_timeout_ms=1_000)
    w.settle(w.send())
    topic_id, _ = cluster.topics["t"]
    cluster.topics["t"] = (topic_id, {0: (-1, 1)})
    cluster.drop(1)
    w.run_for(100)
    before = len(cluster.requests(Api.METADATA))
    start_ms = w.now_ms
    lost, asked = w.send(), []
    w.run_for(1_500)
    asked = len(cluster.requests(Api.METADATA)) - before
    assert 1 <= asked <= 15
    w.settle(lost)
    assert w.now_ms == start_ms + 3_000
    cluster.topics["t"] = (topic_id, {0: (1, 2)})
    found = w.send()
    w.settle(found)
    assert found.error is None


# order


@pytest.mark.parametrize("fate", ["close-after", "close-before", "hold", 7, 19])
def test_one_request_in_flight_keeps_the_order(world, cluster, fate):
    """PRD-ACC-08, PRD-SND-14: without idempotence, by muting."""
    cluster.script = fates(None, fate, None, fate)
    w = world(
        enable_idempotence=False,
        max_in_flight_requests_per_connection=1,
        batch_size=0,
        linger_ms=0,
        request_timeout_ms=500,
    )
    w.settle(*[w.send() for _ in range(8)])
    values = cluster.log("t").values
    assert sorted(set(values)) == list(dict.fromkeys(values))


def test_several_requests_in_flight_may_reorder_without_idempotence(world, cluster):
    """PRD-SND-14: the twin of the tests that say they must not."""
    cluster.script = fates(None, code("NOT_ENOUGH_REPLICAS"))
    w = world(enable_idempotence=False, batch_size=0, linger_ms=0)
    w.settle(w.send())
    w.settle(*[w.send() for _ in range(3)])
    assert cluster.log("t").values == [b"v0", b"v2", b"v3", b"v1"]


# closing


def test_closing_in_time_fails_what_is_left_and_says_what_is_known(world, cluster):
    """PRD-CLS-04."""
    cluster.script = lambda seen: "hold" if seen.api is Api.PRODUCE else None
    w = world(linger_ms=0, batch_size=0, max_in_flight_requests_per_connection=1)
    told = []
    sent = w.send(callback=lambda *result: told.append(result))
    w.run_until(lambda: len(produces(cluster)) == 1)
    queued = w.send(callback=lambda *result: told.append(result))
    start_ms = w.now_ms
    w.core.close(start_ms, 700)
    w.run_until(lambda: w.core.is_closed)
    assert w.now_ms == start_ms + 700
    assert isinstance(sent.error, ProducerClosedError)
    assert (sent.error.outcome, queued.error.outcome) == (Outcome.INFO, Outcome.FAIL)
    assert len(told) == 2
    assert cluster.closed[-1][1] == 1


def test_closing_frees_blocked_sends_at_once(world, cluster):
    """PRD-CLS-07, MET-16."""
    w = world()
    waiting = w.send("nope")
    w.run_for(500)
    w.core.close(w.now_ms)
    w.step()
    assert isinstance(waiting.error, ProducerClosedError)
    assert waiting.error.outcome is Outcome.FAIL


def test_blocked_sends_get_memory_in_the_order_they_came(world, cluster):
    """PRD-ACC-09."""
    w = world(buffer_memory=250, batch_size=0, linger_ms=0)
    deliveries = [w.send(value=b"%d" % number + b"x" * 80) for number in range(6)]
    w.settle(*deliveries)
    assert [value[:1] for value in cluster.log("t").values] == [b"%d" % number for number in range(6)]
    assert w.core._accumulator.pool.available_bytes == 250


def test_what_was_written_before_too_few_replicas_had_it_is_there_twice_without_idempotence(world, cluster):
    """PRD-SND-09: NOT_ENOUGH_REPLICAS_AFTER_APPEND is retried although the batch is in the log."""
    after_append = code("NOT_ENOUGH_REPLICAS_AFTER_APPEND")

    def appended_but(seen):
        def change(body):
            (topic,) = body.responses
            (partition,) = topic.partition_responses
            partition = replace(
                partition, error_code=type(partition.error_code)(after_append), base_offset=-1
            )
            return replace(body, responses=(replace(topic, partition_responses=(partition,)),))

        return cluster.edit(seen, change) if len(produces(cluster)) == first + 1 else None

    for idempotent, copies in ((False, 2), (True, 1)):
        cluster.logs.clear()
        first = len(produces(cluster))
        cluster.script = lambda seen: appended_but(seen) if seen.api is Api.PRODUCE else None
        w = world(enable_idempotence=idempotent)
        delivery = w.send()
        w.settle(delivery)
        assert delivery.error is None
        assert cluster.log("t").next_offset == copies


def test_a_topic_that_was_deleted_fails_in_time_and_hinders_nobody(world, cluster):
    """PRD-SND-11."""
    cluster.add_topic("gone", [1])
    w = world(delivery_timeout_ms=3_000, request_timeout_ms=1_000, linger_ms=0)
    w.settle(w.send("gone"), w.send("t"))
    del cluster.topics["gone"]
    start_ms = w.now_ms
    lost = w.send("gone")
    for _ in range(20):
        other_ms = w.now_ms
        w.settle(w.send("t"))
        assert w.now_ms - other_ms < 50
        w.run_for(50)
    w.settle(lost)
    assert isinstance(lost.error, TimeoutError)
    assert w.now_ms == start_ms + 3_000


def test_a_recreated_topic_gets_what_metadata_says_is_its_own(world, cluster):
    """PRD-SND-15: the old id is refused, and the answer to it still finds its batch."""
    w = world(linger_ms=0)
    w.settle(w.send())
    old_id, partitions = cluster.topics["t"]
    new_id = UUID(int=0x9999)
    cluster.topics["t"] = (new_id, partitions)
    cluster.logs.clear()
    unknown = code("UNKNOWN_TOPIC_ID")

    def script(seen):
        by_old_id = seen.api is Api.PRODUCE and seen.body.topic_data[0].topic_id == old_id
        return unknown if by_old_id else None

    cluster.script = script
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    ids = [seen.body.topic_data[0].topic_id for seen in produces(cluster)]
    assert ids == [old_id, old_id, new_id]
    assert cluster.log("t").values == [b"v1"]


def test_the_words_for_a_missing_permission(world, cluster):
    """PRD-SND-03."""
    cluster.script = fates(code("TOPIC_AUTHORIZATION_FAILED"))
    w = world()
    delivery = w.send()
    w.settle(delivery)
    assert "may not write to the topic" in str(delivery.error)
    w.settle(w.send())


def test_an_answer_under_an_id_that_is_history_still_finds_its_batch(world, cluster):
    """PRD-SND-15: metadata learned the topic's new id while the request was on its way."""
    w = world(linger_ms=0)
    w.settle(w.send())
    delivery = w.send()
    w.step()
    known = w.core._metadata.topics
    known["t"] = replace(known["t"], topic_id=UUID(int=0x9999))
    start_ms = w.now_ms
    w.settle(delivery)
    assert (delivery.error, w.now_ms - start_ms) == (None, 2)
