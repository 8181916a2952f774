"""The transaction coordinator: the life of a transaction, before and since KIP-890, as its requests show it."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode

from harness.brokers.scripted.transactions.states import TransactionState
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
