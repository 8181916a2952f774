"""The transaction coordinator: the life of a transaction, before and since KIP-890, as its requests show it."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode

from harness.brokers.scripted.transactions.states import TransactionState
from harness.model.errors import UsageError
from harness.wire.apis import Api
from testkit.codes import raises_code
from tests.harness.brokers.scripted.transactions import V1, V2, Ids, Transactor, rows, stable_offset

OK, CONCURRENT, FENCED = ErrorCode.none, ErrorCode.concurrent_transactions, ErrorCode.producer_fenced
OLD_EPOCH, INVALID = ErrorCode.invalid_producer_epoch, ErrorCode.invalid_txn_state
UNKNOWN_ID, RETRY = ErrorCode.invalid_producer_id_mapping, ErrorCode.not_enough_replicas
BOTH = pytest.mark.parametrize("versions", [V1, V2], ids=["v1", "v2"])
ENDS = pytest.mark.parametrize(("commits", "marker"), [(True, "COMMIT"), (False, "ABORT")])


def begun(it, versions=None, name="x"):
    """Return a producer with ids."""
    producer = Transactor(it, name, versions)
    assert producer.init() is OK
    return producer


@BOTH
@ENDS
def test_a_transaction_ends_with_one_marker_in_each_of_its_partitions(client, versions, commits, marker):
    it = client()
    producer = begun(it, versions)
    epoch = producer.ids.epoch
    assert producer.add(0, 1) == [OK, OK]
    assert producer.produce(0, 0) is OK
    assert stable_offset(it) == 0
    assert producer.end(commits=commits) is OK
    ending = epoch + (versions is V2)
    assert rows(it, 0) == [("data", 0, epoch), (marker, 0, ending)]
    assert rows(it, 1) == [(marker, 0, ending)]
    assert rows(it, 2) == []
    assert stable_offset(it) == 2
    assert producer.ids == Ids(0, ending)
    assert it.cluster.transaction("x").partitions == set()


@BOTH
def test_the_next_transaction_follows_at_once(client, versions):
    it = client()
    producer = begun(it, versions)
    sequence = 0
    for _ in range(3):
        assert producer.add(0) is OK
        assert producer.produce(sequence) is OK
        assert producer.end() is OK
        sequence = 0 if versions is V2 else sequence + 1
    assert [kind for kind, _, _ in rows(it)] == ["data", "COMMIT"] * 3


def test_an_older_release_compares_epochs_only_when_it_appends(client):
    """A batch of an old epoch is refused with the log's start offset, because it came as far as the log."""
    for release, start in (("3.9.2", 0), ("4.3.1", -1)):
        it = client(version=release)
        first = begun(it, V1)
        second = begun(it, V1)
        assert (second.add(0), second.produce(0)) == (OK, OK)
        answer = it.produce(first.batch(0), version=11, transactional_id="x")
        assert (answer.error_code, answer.log_start_offset) == (OLD_EPOCH, start)


def test_since_kip_890_produce_adds_the_partition_itself(client):
    it = client()
    old, new = begun(it, V1, "old"), begun(it, V2, "new")
    assert old.produce(0, 1) is ErrorCode.transaction_abortable
    assert old.produce(0, 1, version=10) is INVALID
    assert new.produce(0, 0) is OK
    assert it.cluster.transaction("new").partitions == {("t", 0)}
    assert it.cluster.transaction("new").state is TransactionState.ONGOING
    assert it.cluster.transaction("old").state is TransactionState.EMPTY
    assert new.end() is OK
    assert rows(it, 0) == [("data", 1, 0), ("COMMIT", 1, 1)]


def test_an_open_transaction_is_aborted_before_its_producer_is_replaced(client):
    """The epoch grows twice: the one in between is never given to a producer."""
    for level in (1, 2):
        it = client()
        it.cluster.set_transaction_version(level)
        first = begun(it, V1)
        assert (first.add(0), first.produce(0)) == (OK, OK)
        second = Transactor(it, "x", V1)
        assert second.init() is CONCURRENT
        assert second.init() is OK
        assert second.ids == Ids(0, 2)
        assert rows(it) == [("data", 0, 0), ("ABORT", 0, 1)]
        assert it.cluster.transaction("x").moves[-4:] == [
            TransactionState.PREPARE_EPOCH_FENCE,
            TransactionState.PREPARE_ABORT,
            TransactionState.COMPLETE_ABORT,
            TransactionState.EMPTY,
        ]


@BOTH
def test_a_zombie_changes_nothing_and_learns_that_it_is_fenced(client, versions):
    it = client()
    zombie = begun(it, versions)
    assert begun(it, versions).ids == Ids(0, 1)
    assert [zombie.add(0, version=version) for version in range(6)] == [OLD_EPOCH] * 2 + [FENCED] * 4
    assert [zombie.end(version=version) for version in range(5)] == [OLD_EPOCH] * 2 + [FENCED] * 3
    assert [zombie.add_offsets(version=version) for version in range(5)] == [OLD_EPOCH] * 2 + [FENCED] * 3
    assert [zombie.init(keeps=True, version=version) for version in (3, 4, 5)] == [OLD_EPOCH, FENCED, FENCED]
    assert zombie.produce(0) is OLD_EPOCH
    assert zombie.commit_offset(5) is OLD_EPOCH
    assert rows(it) == []
    assert it.cluster.transaction("x").state is TransactionState.EMPTY


def test_a_late_batch_of_the_transaction_before_is_refused_since_kip_890(client):
    """Before, only the coordinator's verification could tell, and the batch's epoch was still the current one."""
    it = client()
    producer = begun(it)
    late = producer.copy()
    assert (producer.produce(0), producer.end()) == (OK, OK)
    assert producer.produce(0) is OK
    assert late.produce(1) is OLD_EPOCH
    assert producer.ids == Ids(0, 1)


@pytest.mark.parametrize(
    ("before", "commits", "retry", "current"),
    [
        ("empty", False, FENCED, OK),
        ("empty", True, FENCED, INVALID),
        ("aborted", False, OK, OK),
        ("aborted", True, INVALID, INVALID),
        ("committed", False, INVALID, OK),
        ("committed", True, OK, INVALID),
    ],
)
def test_since_kip_890_the_epoch_tells_a_retry_from_the_next_end(client, before, commits, retry, current):
    """The table of TransactionCoordinator#endTransaction. A retry changes nothing; an abort bumps the epoch."""
    for answer, is_retry in ((retry, True), (current, False)):
        it = client()
        producer = begun(it)
        asks = producer.copy()
        if before == "empty":
            assert producer.init() is OK
        else:
            assert (producer.produce(0), producer.end(commits=before == "committed")) == (OK, OK)
        if not is_retry:
            asks = producer.copy()
        known = producer.ids
        assert asks.end(commits=commits) is answer
        if answer is OK:
            assert asks.ids == (known if is_retry else Ids(known.producer_id, known.epoch + 1))


@pytest.mark.parametrize(("ended", "commits"), [(True, True), (False, False)])
def test_before_kip_890_a_retry_of_the_same_end_succeeds(client, ended, commits):
    it = client()
    producer = begun(it, V1)
    assert producer.end(commits=commits) is INVALID
    assert (producer.add(0), producer.end(commits=ended)) == (OK, OK)
    assert producer.end(commits=ended) is OK
    assert producer.end(commits=not ended) is INVALID
    assert rows(it) == [("COMMIT" if ended else "ABORT", 0, 0)]


def test_an_unknown_or_empty_transactional_id_is_refused(client):
    it = client()
    stranger, nameless = Transactor(it, "stranger"), Transactor(it, "")
    stranger.ids = nameless.ids = Ids(7, 0)
    for ask in (lambda each: each.add(0), lambda each: each.end(), lambda each: each.add_offsets()):
        assert ask(stranger) is UNKNOWN_ID
        assert ask(nameless) is ErrorCode.invalid_request
    known = begun(it)
    known.ids = Ids(99, 0)
    assert (known.add(0), known.end(), known.produce(0)) == (UNKNOWN_ID,) * 3


def test_partitions_that_do_not_exist_keep_the_others_out(client):
    it = client()
    producer = begun(it, V1)
    absent, tried = ErrorCode.unknown_topic_or_partition, ErrorCode.operation_not_attempted
    assert producer.add(0, 9) == [tried, absent]
    assert producer.add(0, topic="nowhere") is absent
    it.cluster.settings.denied_topics.add("t")
    assert producer.add(0) is ErrorCode.topic_authorization_failed
    assert it.cluster.transaction("x").state is TransactionState.EMPTY


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_add_or_verify_partitions_of_a_transaction(client, version):
    it = client()
    producer = begun(it)
    assert producer.add(0, 1, version=version, verify_only=True) == [ErrorCode.transaction_abortable] * 2
    assert producer.add(0, version=version) is OK
    assert producer.add(0, 1, version=version, verify_only=True) == [OK, ErrorCode.transaction_abortable]


def test_a_request_has_batches_of_one_producer(client):
    it = client()
    one, other = begun(it, name="x"), begun(it, name="y")
    parts = [(0, one.batch(0)), (1, other.batch(0))]
    body = it.produce_many(parts, transactional_id="x").body
    codes = [each.error_code for each in body.responses[0].partition_responses]
    assert codes == [UNKNOWN_ID, UNKNOWN_ID]
    assert (rows(it, 0), rows(it, 1)) == ([], [])


def test_a_batch_outside_of_the_open_transaction_is_refused(client, batch):
    it = client()
    producer = begun(it)
    assert producer.produce(0) is OK
    plain = batch(1, (*producer.ids, 1))
    assert it.produce(plain).error_code is INVALID


def test_the_first_batch_that_was_asked_about_is_the_first_to_be_appended(client):
    """A batch that could not be verified is sent again before the ones after it (VerificationStateEntry)."""
    it = client()
    old, new = begun(it, V1, "old"), begun(it, V2, "new")
    assert old.produce(3) is ErrorCode.transaction_abortable
    assert old.add(0) is OK
    assert old.produce(5) is ErrorCode.out_of_order_sequence_number
    assert old.produce(3) is OK
    assert new.produce(3, 1) is ErrorCode.out_of_order_sequence_number
    assert new.produce(0, 1) is OK


def test_an_open_transaction_keeps_its_producer_known(client):
    it = client()
    producer = begun(it, V1)
    assert (producer.add(0), producer.produce(0)) == (OK, OK)
    it.cluster.expire_producers(it.now_ns)
    assert producer.produce(7) is ErrorCode.out_of_order_sequence_number
    assert producer.end() is OK
    it.cluster.expire_producers(it.now_ns)
    assert (producer.add(0), producer.produce(7)) == (OK, OK)


def test_an_error_can_be_injected_into_each_request(client):
    it = client()
    producer = begun(it)
    asked = {
        Api.ADD_PARTITIONS_TO_TXN: lambda: producer.add(0),
        Api.ADD_OFFSETS_TO_TXN: producer.add_offsets,
        Api.END_TXN: producer.end,
        Api.TXN_OFFSET_COMMIT: lambda: producer.commit_offset(1),
    }
    for api, ask in asked.items():
        it.cluster.inject_error(api, ErrorCode.concurrent_transactions, 1)
        assert ask() is CONCURRENT
    it.cluster.inject_error(Api.PRODUCE, ErrorCode.not_enough_replicas, 1)
    assert producer.produce(0) is RETRY
    it.cluster.settings.denied_transactional_ids.add("x")
    denied = [*(ask() for ask in asked.values()), producer.produce(0)]
    assert denied == [ErrorCode.transactional_id_authorization_failed] * 5
    assert it.cluster.transaction("x").state is TransactionState.EMPTY


@pytest.mark.parametrize(
    ("release", "level", "supported", "finalized"),
    [
        ("3.9.2", None, (), ()),
        ("4.3.1", None, (("transaction.version", 0, 2),), (("transaction.version", 2, 2),)),
        ("4.3.1", 1, (("transaction.version", 0, 2),), (("transaction.version", 1, 1),)),
        ("4.3.1", 0, (("transaction.version", 0, 2),), ()),
    ],
)
def test_clients_learn_the_transaction_version(client, release, level, supported, finalized):
    it = client(version=release)
    if level is not None:
        it.cluster.set_transaction_version(level)
    named = {"client_software_name": "a", "client_software_version": "1"}
    for version in (3, 4):
        body = it.request(Api.API_VERSIONS, version, **named).body
        told = [(each.name, each.min_version, each.max_version) for each in body.supported_features]
        assert tuple(told) == (supported if version >= 4 else ())
        levels = [
            (each.name, each.max_version_level, each.min_version_level) for each in body.finalized_features
        ]
        assert tuple(levels) == finalized
        assert (body.finalized_features_epoch >= 0) == bool(supported)


def test_a_release_has_no_other_transaction_versions(client):
    for release, level in (("3.9.2", 1), ("4.3.1", 3), ("4.3.1", -1)):
        with raises_code(UsageError, "transaction-version"):
            client(version=release).cluster.set_transaction_version(level)
