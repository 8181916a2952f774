"""Transactions in virtual time, against scripted brokers with a transaction coordinator."""

from __future__ import annotations

import pytest

from clients.adapters.reference.simulated import SimulatedSelector
from clients.reference.common.group_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from clients.reference.errors import (
    FatalTransactionError,
    IllegalStateError,
    ProducerFencedError,
    TransactionError,
)
from clients.reference.network.channel import Channel
from clients.reference.producer.producer import Components, ProducerCore
from clients.reference.telemetry.trace import BatchClosed, RequestSent
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME
from suites.checks.trace.sequence import Sequences
from suites.checks.trace.transition import Transitions
from suites.properties.simulation import TOPIC, Simulation
from testkit.codes import raises_code

VERSIONS = pytest.mark.parametrize("version", ["4.3.1", "3.9.2"])
MARKER = None
INVALID_RECORD = BY_NAME["INVALID_RECORD"].code


class Producer(Simulation):
    """A transactional producer of topic "t", on three brokers of one version."""

    def __init__(self, version, **settings):
        settings = {"transactional.id": "tx", "linger.ms": 5} | settings
        super().__init__(Components(), settings, nodes=3, partitions=3, version=version)
        self.transactions = self.core.transactions

    def ended(self, result, limit_ms=60_000):
        self._due_ms = self.now_ms
        assert self.run_until(lambda: result.is_completed, limit_ms)
        result.take()

    def initialize(self):
        self.ended(self.transactions.initialize(self.now_ms))
        return self

    def begin(self):
        self.transactions.begin(self.now_ms)

    def commit(self):
        self.ended(self.transactions.begin_commit(self.now_ms))

    def abort(self):
        self.ended(self.transactions.begin_abort(self.now_ms))

    def values(self, partition=0):
        """Return the records of a partition, with None for a marker."""
        return [row.value for row in self.log() if row.partition == partition]

    def requests(self, *apis):
        return [event.api for event in self.told(RequestSent) if event.api in apis]


@VERSIONS
def test_transactions_follow_each_other(version):
    p = Producer(version).initialize()
    for number in range(3):
        p.begin()
        sent = [p.send(b"%d" % number, partition=partition) for partition in range(3)]
        p.commit()
        assert [delivery.error for delivery in sent] == [None] * 3
    for partition in range(3):
        assert p.values(partition) == ["0", MARKER, "1", MARKER, "2", MARKER]
    assert not Transitions().watch(p.trace) and not Sequences().watch(p.trace)


@VERSIONS
def test_a_transaction_may_be_aborted_and_the_next_one_committed(version):
    p = Producer(version).initialize()
    p.begin()
    sent = p.send(b"aborted", partition=0)
    assert p.run_until(lambda: sent.is_done)
    p.abort()
    p.begin()
    p.send(b"committed", partition=0)
    p.commit()
    assert p.values() == ["aborted", MARKER, "committed", MARKER]


@VERSIONS
def test_a_failed_record_makes_the_transaction_abortable_and_raises_the_epoch(version):
    p = Producer(version).initialize()
    before = p.transactions.producer_id
    p.cluster.inject_error(Api.PRODUCE, INVALID_RECORD, 1)
    p.begin()
    p.send(b"bad", partition=0)
    with raises_code(TransactionError, "transaction-lost-records"):
        p.commit()
    with raises_code(TransactionError, "transaction-lost-records"):
        p.send(b"more", partition=0)
    p.abort()
    assert p.transactions.producer_id.epoch > before.epoch
    p.begin()
    p.send(b"good", partition=0)
    p.commit()
    assert [value for value in p.values() if value is not MARKER] == ["good"]


@VERSIONS
def test_requests_are_those_of_the_version_of_the_protocol(version):
    p = Producer(version).initialize()
    p.begin()
    p.send(b"x", partition=0)
    offsets = p.transactions.send_offsets({(TOPIC, 0): OffsetAndMetadata(1)}, ConsumerGroupMetadata("g"))
    p.commit()
    offsets.take()
    asked = p.requests("AddPartitionsToTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn")
    extra = [] if version == "4.3.1" else ["AddPartitionsToTxn", "AddOffsetsToTxn"]
    assert sorted(asked) == sorted([*extra, "TxnOffsetCommit", "EndTxn"])
    assert asked[-1] == "EndTxn"
    versions = {event.api: event.version for event in p.told(RequestSent)}
    assert versions["EndTxn"] == (5 if version == "4.3.1" else 4)
    assert versions["Produce"] == (13 if version == "4.3.1" else 11)


@VERSIONS
def test_a_second_producer_fences_the_first(version):
    """PRD-TXN-01, -08, -19."""
    p = Producer(version).initialize()
    p.begin()
    sent = p.send(b"first", partition=0)
    assert p.run_until(lambda: sent.is_done)
    second = ProducerCore(p.config, SimulatedSelector(p.network, Channel), jitter=float)
    result = second.transactions.initialize(p.now_ms)

    def is_initialized():
        second.run_once(p.now_ms)
        return result.is_completed

    assert p.run_until(is_initialized, 60_000) and result.error is None
    with pytest.raises((ProducerFencedError, TransactionError)):
        p.commit()
    with pytest.raises(ProducerFencedError):
        p.abort()
    for call in (p.begin, p.commit, p.abort, lambda: p.send(b"more")):
        with pytest.raises(ProducerFencedError):
            call()
    assert p.values() == ["first", MARKER]
    assert second.transactions.producer_id.epoch > p.transactions.producer_id.epoch


@VERSIONS
def test_close_aborts_and_calls_that_wait_fail(version):
    """PRD-CLS-04, PRD-CLS-06."""
    p = Producer(version).initialize()
    p.begin()
    delivery = p.send(b"open", partition=0)
    assert p.run_until(lambda: not delivery.is_blocked)
    assert p.close()
    assert p.values() == ["open", MARKER]
    q = Producer(version)
    waiting = q.transactions.initialize(q.now_ms)
    q.core.close(q.now_ms, 0)
    q.rounds()
    with pytest.raises(FatalTransactionError):
        waiting.take()


def test_forced_close_ends_a_commit_without_a_result():
    p = Producer("4.3.1").initialize()
    p.begin()
    delivery = p.send(b"x", partition=0)
    assert p.run_until(lambda: not delivery.is_blocked)
    for proxy in p.network.proxies:
        proxy.cut()
        proxy.refuse("test")
    result = p.transactions.begin_commit(p.now_ms)
    p.core.close(p.now_ms, 500)
    assert p.run_until(lambda: p.core.is_closed, 1_000)
    assert isinstance(result.error, FatalTransactionError)


@VERSIONS
@pytest.mark.parametrize("is_too_large", [True, False])
def test_a_record_that_fails_before_it_is_in_a_batch_is_missed(version, is_too_large):
    """PRD-TXN-07: the application has sent it in the transaction, so the commit fails."""
    p = Producer(version, **{"max.block.ms": 300}).initialize()
    p.begin()
    if is_too_large:
        p.send(b"x" * 2_000_000, partition=0)
    else:
        p.send(b"x", partition=17)
        p.run(400)
    with raises_code(TransactionError, "transaction-lost-a-record"):
        p.commit()
    p.abort()
    p.begin()
    p.send(b"next", partition=0)
    p.commit()
    assert p.values() == ["next", MARKER]


def test_a_commit_ends_lingering():
    """PRD-TXN-05."""
    p = Producer("4.3.1", **{"linger.ms": 60_000, "delivery.timeout.ms": 120_000}).initialize()
    p.begin()
    p.send(b"x", partition=0)
    p.commit()
    assert [event.reason for event in p.told(BatchClosed)] == ["transaction"]


@VERSIONS
def test_a_record_that_waits_for_metadata_belongs_to_its_transaction(version):
    """PRD-TXN-05, -18: the commit waits for it, and an abort ends it."""
    p = Producer(version).initialize()
    p.begin()
    delivery = p.send(b"early", partition=0)
    assert delivery.is_blocked
    p.commit()
    assert delivery.error is None and p.values() == ["early", MARKER]
    p.begin()
    unknown = p.send(b"never", topic="no-such-topic")
    assert unknown.is_blocked
    p.abort()
    assert unknown.error is not None and unknown.error.code == "records-aborted"


def test_calls_need_a_transactional_id():
    simulation = Simulation(Components())
    with raises_code(IllegalStateError, "not-transactional"):
        _ = simulation.core.transactions


def test_records_need_a_transaction():
    p = Producer("4.3.1")
    with raises_code(IllegalStateError, "transaction-state", method="send"):
        p.send(b"too early")
    p.initialize()
    with raises_code(IllegalStateError, "transaction-state", method="send"):
        p.send(b"too early")


def test_a_refused_identity_can_be_asked_for_again():
    """KAFKA-13668."""
    p = Producer("4.3.1")
    p.cluster.inject_error(Api.INIT_PRODUCER_ID, BY_NAME["TRANSACTIONAL_ID_AUTHORIZATION_FAILED"].code, 1)
    with raises_code(TransactionError, "transaction-must-be-aborted"):
        p.initialize()
    p.run(10)
    p.initialize()
    p.begin()
    p.send(b"x", partition=0)
    p.commit()
    assert p.values() == ["x", MARKER]
