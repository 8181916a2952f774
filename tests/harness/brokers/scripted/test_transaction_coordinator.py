"""The transaction coordinator over time: prepared transactions, timeouts, expiry, epochs, another coordinator."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode

from harness.brokers.scripted.transactions.states import TransactionState
from harness.wire.messages import decode_response
from tests.harness.brokers.scripted.transactions import MS, V1, V2, Ids, Transactor, rows, stable_offset

OK, CONCURRENT, FENCED = ErrorCode.none, ErrorCode.concurrent_transactions, ErrorCode.producer_fenced
OLD_EPOCH, RETRY = ErrorCode.invalid_producer_epoch, ErrorCode.not_enough_replicas
BOTH = pytest.mark.parametrize("versions", [V1, V2], ids=["v1", "v2"])
#: TransactionMetadata.isEpochExhausted: the last epoch that is given to a producer.
LAST_EPOCH = 32_766
MINUTE_MS = 60_000


def opened(it, versions=None, name="x", partition=0):
    """Return a producer with an open transaction of one record."""
    producer = Transactor(it, name, versions)
    assert producer.init() is OK
    assert producer.add(partition) is OK
    assert producer.produce(0, partition) is OK
    return producer


def pass_ms(it, duration_ms):
    it.now_ns += duration_ms * MS
    it.cluster.wake(it.now_ns)


# Prepared transactions


@BOTH
def test_a_prepared_transaction_refuses_everything_until_its_markers_are_written(client, versions):
    it = client()
    it.cluster.settings.transaction_marker_delay_ms = 50
    producer = opened(it, versions)
    before = producer.copy()
    assert producer.end() is OK
    assert it.cluster.transaction("x").state is TransactionState.PREPARE_COMMIT
    assert rows(it) == [("data", 0, 0)]
    assert stable_offset(it) == 0
    asked = [producer.add(1), producer.end(), producer.end(commits=False), producer.add_offsets()]
    assert asked == [CONCURRENT] * 4
    assert before.end() is CONCURRENT
    assert (producer.init(), producer.init(keeps=True)) == (CONCURRENT, CONCURRENT)
    assert producer.produce(1 if versions is V1 else 0, 1, version=11) is RETRY
    pass_ms(it, 49)
    assert stable_offset(it) == 0
    pass_ms(it, 1)
    assert it.cluster.transaction("x").state is TransactionState.COMPLETE_COMMIT
    assert stable_offset(it) == 2
    assert producer.add(1) is OK


@pytest.mark.parametrize(("delay_ms", "answered_ms", "code"), [(30, 40, OK), (500, 100, CONCURRENT)])
def test_a_broker_that_adds_the_partition_itself_waits_a_moment_for_the_end(
    client, delay_ms, answered_ms, code
):
    """add.partitions.to.txn.retry.backoff.ms is 20 ms, and the maximum 100 ms."""
    it = client()
    producer = opened(it)
    it.cluster.settings.transaction_marker_delay_ms = delay_ms
    assert producer.end() is OK
    asked = it.produce_many([(0, producer.batch(0))], transactional_id="x")
    assert asked.answer.frame is None
    waiting = asked.answer.waiting
    while waiting.answer is None:
        it.now_ns = it.cluster.due_ns
        it.cluster.wake(it.now_ns)
    assert waiting.answer.at_ns == answered_ms * MS
    _, body = decode_response(waiting.answer.frame[4:], 0, 12)
    assert body.responses[0].partition_responses[0].error_code is code
    assert len(rows(it)) == (3 if code is OK else 1)


def test_markers_wait_for_leaders_that_cannot_append(client):
    it = client(nodes=3)
    producer = Transactor(it)
    assert producer.init() is OK
    for partition in range(3):
        assert producer.produce(0, partition) is OK
    coordinator = producer.node_id
    led = next(index for index in range(3) if it.cluster.leader("t", index)[0] != coordinator)
    other = it.cluster.leader("t", led)[0]
    it.cluster.pause(other)
    assert producer.end() is OK
    assert it.cluster.transaction("x").state is TransactionState.PREPARE_COMMIT
    assert [kind for kind, _, _ in rows(it, led)] == ["data"]
    it.cluster.resume(other)
    pass_ms(it, 1)
    assert it.cluster.transaction("x").state is TransactionState.COMPLETE_COMMIT
    for partition in range(3):
        assert [kind for kind, _, _ in rows(it, partition)] == ["data", "COMMIT"]


def test_a_transaction_with_a_deleted_topic_can_end(client):
    it = client()
    producer = opened(it)
    it.cluster.settings.transaction_marker_delay_ms = 10
    assert producer.end() is OK
    it.cluster.delete_topic("t")
    pass_ms(it, 10)
    assert it.cluster.transaction("x").state is TransactionState.COMPLETE_COMMIT


def test_a_partition_that_knows_a_newer_epoch_keeps_the_transaction_prepared(client, batch):
    """Kafka gives such markers up. Only another coordinator tries them again."""
    it = client()
    producer = opened(it)
    it.cluster.expire_producers(it.now_ns)
    assert it.produce(batch(1, (0, 9, 0)), 1).error_code is OK
    assert (producer.add(1), producer.end()) == (OK, OK)
    pass_ms(it, 1_000)
    assert it.cluster.transaction("x").state is TransactionState.PREPARE_COMMIT
    assert [kind for kind, _, _ in rows(it, 1)] == ["data"]


# Timeouts and expiry


@pytest.mark.parametrize("level", [1, 2])
def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(client, level):
    it = client()
    it.cluster.set_transaction_version(level)
    producer = opened(it, V1)
    pass_ms(it, MINUTE_MS - 1)
    assert (producer.add(1), producer.produce(0, 1)) == (OK, OK)
    assert stable_offset(it) == 0
    pass_ms(it, 1)
    assert rows(it) == [("data", 0, 0), ("ABORT", 0, 1)]
    assert [kind for kind, _, _ in rows(it, 1)] == ["data", "ABORT"]
    assert stable_offset(it) == 2
    assert (producer.add(0), producer.end(), producer.produce(1)) == (FENCED, FENCED, OLD_EPOCH)
    assert producer.init() is OK
    assert producer.ids == Ids(0, 2)


def test_a_transaction_that_ends_in_time_is_left_alone(client):
    it = client()
    producer = opened(it)
    assert producer.end() is OK
    pass_ms(it, 10 * MINUTE_MS)
    assert [kind for kind, _, _ in rows(it)] == ["data", "COMMIT"]
    assert producer.produce(0) is OK


def test_a_transactional_id_expires_only_between_transactions(client):
    it = client()
    it.cluster.settings.transaction_max_timeout_ms = 2**31 - 1
    it.cluster.settings.transactional_id_expiration_ms = MINUTE_MS
    producer = Transactor(it)
    assert producer.init(timeout_ms=100 * MINUTE_MS) is OK
    assert (producer.produce(0), producer.ids) == (OK, Ids(0, 0))
    pass_ms(it, 2 * MINUTE_MS)
    assert producer.end() is OK
    known = it.cluster.transaction("x")
    pass_ms(it, MINUTE_MS - 1)
    assert producer.end(commits=False) is OK
    pass_ms(it, MINUTE_MS)
    assert producer.add(0) is ErrorCode.invalid_producer_id_mapping
    assert known.state is TransactionState.DEAD
    assert producer.init() is OK
    assert producer.ids == Ids(1, 0)


# Epochs


def test_exhausted_epochs_give_the_producer_a_new_id(client):
    """Before KIP-890 with InitProducerId, and since then with the end of a transaction."""
    it = client()
    old, new = Transactor(it, "old", V1), Transactor(it, "new", V2)
    for producer in (old, new):
        assert producer.init() is OK
        it.cluster.transaction(producer.name).producer_epoch = LAST_EPOCH
        producer.ids = producer.ids._replace(epoch=LAST_EPOCH)
        assert producer.add(0) is OK
    retry = new.copy()
    assert (old.end(), new.end()) == (OK, OK)
    assert new.ids == Ids(2, 0)
    assert retry.end() is OK
    assert retry.ids == Ids(2, 0)
    retry = old.copy()
    assert (old.init(keeps=True), old.ids) == (OK, Ids(3, 0))
    assert (retry.init(keeps=True), retry.ids) == (OK, Ids(3, 0))
    assert ("COMMIT", 1, LAST_EPOCH + 1) in rows(it)


def test_a_fenced_producer_can_have_the_epoch_after_the_last(client):
    it = client()
    producer = Transactor(it)
    assert producer.init() is OK
    it.cluster.transaction("x").producer_epoch = LAST_EPOCH
    producer.ids = Ids(0, LAST_EPOCH)
    assert producer.produce(0) is OK
    assert (producer.init(), producer.init()) == (CONCURRENT, OK)
    assert rows(it) == [("data", 0, LAST_EPOCH), ("ABORT", 0, LAST_EPOCH + 1)]
    assert producer.ids == Ids(1, 0)


def test_a_producer_continues_after_an_error_with_the_next_epoch(client):
    """KIP-360: an InitProducerId that is sent again after its response was lost gets the same epoch."""
    it = client()
    producer = Transactor(it)
    assert producer.init() is OK
    lost = producer.copy()
    assert (producer.init(keeps=True), producer.ids) == (OK, Ids(0, 1))
    assert (lost.init(keeps=True), lost.ids) == (OK, Ids(0, 1))
    lost.ids = Ids(9, 1)
    assert lost.init(keeps=True) is FENCED


# Coordinators


def test_a_coordinator_that_loads_refuses_everything_and_then_goes_on(client):
    it = client()
    producer = opened(it, V1)
    other = Transactor(it, "y", V1)
    assert (other.init(), other.add(1)) == (OK, OK)
    it.cluster.settings.transaction_marker_delay_ms = 10
    assert producer.end() is OK
    it.cluster.settings.coordinator_load_in_progress = True
    loading = ErrorCode.coordinator_load_in_progress
    assert (producer.init(), producer.add(0), producer.end()) == (loading,) * 3
    assert other.produce(0, 1) is RETRY
    pass_ms(it, 2 * MINUTE_MS)
    assert [kind for kind, _, _ in rows(it)] == ["data"]
    assert it.cluster.transaction("y").state is TransactionState.ONGOING
    it.cluster.settings.coordinator_load_in_progress = False
    pass_ms(it, 0)
    pass_ms(it, 10)
    assert [kind for kind, _, _ in rows(it)] == ["data", "COMMIT"]
    assert it.cluster.transaction("y").state is TransactionState.COMPLETE_ABORT


@BOTH
@pytest.mark.parametrize("how", ["moves", "dies"])
def test_another_coordinator_finishes_what_was_begun(client, versions, how):
    it = client(nodes=3)
    it.cluster.settings.transaction_marker_delay_ms = 10
    producer, slow = opened(it, versions), opened(it, versions, "slow", 1)
    first = producer.node_id
    assert producer.end(commits=False) is OK
    if how == "moves":
        it.cluster.move_coordinators()
    else:
        it.cluster.kill(first, it.now_ns)
    assert producer.node_id != first
    pass_ms(it, 0)
    assert it.cluster.transaction("x").state is TransactionState.PREPARE_ABORT
    pass_ms(it, 10)
    assert it.cluster.transaction("x").state is TransactionState.COMPLETE_ABORT
    assert rows(it)[-1] == ("ABORT", producer.ids.producer_id, producer.ids.epoch)
    if how == "moves":
        late = producer.ask(
            26, 4, first, transactional_id="x", producer_id=0, producer_epoch=0, committed=True
        )
        assert late.body.error_code is ErrorCode.not_coordinator
    pass_ms(it, MINUTE_MS)
    pass_ms(it, 10)
    assert it.cluster.transaction("slow").state is TransactionState.COMPLETE_ABORT
    assert slow.add(0) is FENCED


def test_another_coordinator_repeats_the_markers_that_were_written(client):
    """Which partitions have theirs is not stored. A repeated marker changes nothing for readers."""
    it = client(nodes=3, replication_factor=1)
    producer = Transactor(it)
    assert producer.init() is OK
    for partition in range(3):
        assert producer.produce(0, partition) is OK
    late = next(index for index in range(3) if it.cluster.leader("t", index)[0] != producer.node_id)
    node_id = it.cluster.leader("t", late)[0]
    it.cluster.pause(node_id)
    assert producer.end() is OK
    done = next(index for index in range(3) if len(rows(it, index)) == 2)
    it.cluster.move_coordinators()
    if producer.node_id == node_id:
        it.cluster.move_coordinators()
    pass_ms(it, 0)
    it.cluster.resume(node_id)
    pass_ms(it, 1)
    assert it.cluster.transaction("x").state is TransactionState.COMPLETE_COMMIT
    assert [kind for kind, _, _ in rows(it, done)] == ["data", "COMMIT", "COMMIT"]
    assert stable_offset(it, done) == 3


def test_without_a_coordinator_a_partition_cannot_be_verified(client):
    it = client()
    producer = opened(it)
    it.cluster.settings.coordinator_available = False
    assert producer.produce(0, 1) is RETRY
    assert producer.produce(1) is OK


def test_a_paused_coordinator_cannot_be_asked(client):
    it = client(nodes=3)
    producer = opened(it)
    elsewhere = next(index for index in range(3) if it.cluster.leader("t", index)[0] != producer.node_id)
    it.cluster.pause(producer.node_id)
    assert producer.produce(0, elsewhere) is (OK if elsewhere == 0 else RETRY)
