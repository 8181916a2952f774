"""The calls of transactions on sockets and threads: results, timeouts, metrics, callbacks and the context manager."""

from __future__ import annotations

import threading

import pytest

from clients.reference import ConsumerGroupMetadata, OffsetAndMetadata
from clients.reference.errors import (
    FatalTransactionError,
    IllegalStateError,
    TimeoutError,
    TransactionError,
)
from clients.reference.states import TransactionState
from harness.model.errors import UsageError
from harness.model.verdicts import Outcome
from harness.wire.apis import Api
from testkit.codes import raises_code

WAIT_S = 20
INVALID_RECORD = 87


@pytest.fixture
def transactional(producer):
    """Return a function that makes an initialized producer with a transactional.id."""

    def make(**settings):
        made = producer(transactional_id="tx", linger_ms=0, **settings)
        made.init_transactions()
        return made

    return make


def stored(broker):
    return [value for value in broker.brokers.values(0) if value and value.isalpha()]


def state_of(p):
    return p._core.transactions.transaction.state


def test_calls_return_once_they_are_done(broker, transactional):
    with transactional() as p:
        p.begin_transaction()
        future = p.send("t", b"committed", partition=0)
        p.send_offsets_to_transaction({("t", 0): OffsetAndMetadata(1)}, ConsumerGroupMetadata("g"))
        p.send_offsets_to_transaction({}, ConsumerGroupMetadata("g"))
        p.commit_transaction()
        assert future.done() and future.result(WAIT_S).offset == 0
        p.begin_transaction()
        p.send("t", b"aborted", partition=0).result(WAIT_S)
        p.abort_transaction()
        assert stored(broker) == [b"committed", b"aborted"]
        times = {name.name: value for name, value in p.metrics().items() if name.name.startswith("txn-")}
        calls = ("init", "begin", "send-offsets", "commit", "abort")
        assert sorted(times) == sorted(f"txn-{call}-time-ns-total" for call in calls)
        assert all(value > 0 for value in times.values())


def test_context_manager_commits_or_aborts(transactional):
    with transactional() as p:
        with p.transaction():
            done = p.send("t", b"v", partition=0)
        assert done.result(WAIT_S).offset == 0
        with pytest.raises(ZeroDivisionError), p.transaction():
            p.send("t", b"v", partition=0)
            raise ZeroDivisionError
        assert state_of(p) is TransactionState.READY


def test_context_manager_aborts_after_a_failed_commit(broker, transactional):
    with transactional() as p:
        broker.cluster.inject_error(Api.PRODUCE, INVALID_RECORD, 1)
        with raises_code(TransactionError, "transaction-lost-records"), p.transaction():
            p.send("t", b"v", partition=0)
        assert state_of(p) is TransactionState.READY
        with p.transaction():
            p.send("t", b"v", partition=0)


def test_call_that_takes_too_long_must_be_repeated(broker, transactional):
    """PRD-TXN-13."""
    with transactional(max_block_ms=300, request_timeout_ms=2_000) as p:
        p.begin_transaction()
        p.send("t", b"v", partition=0).result(WAIT_S)
        broker.brokers.fates("hold", api=Api.END_TXN)
        with raises_code(TimeoutError, "call-timed-out", method="commit_transaction") as raised:
            p.commit_transaction()
        assert raised.value.outcome is Outcome.INFO
        with raises_code(IllegalStateError, "call-pending", pending="commit_transaction"):
            p.abort_transaction()
        with raises_code(IllegalStateError, "call-pending"):
            p.send("t", b"v")
        for _ in range(WAIT_S * 3):
            try:
                p.commit_transaction()
            except TimeoutError:
                continue
            break
        p.begin_transaction()


def test_calls_in_a_callback_are_refused(transactional):
    refused = []
    heard = threading.Event()
    with transactional() as p:

        def callback(metadata, error):
            for call in (p.init_transactions, p.begin_transaction, p.commit_transaction, p.abort_transaction):
                with raises_code(IllegalStateError, "called-from-callback"):
                    call()
                refused.append(call)
            heard.set()

        p.begin_transaction()
        p.send("t", b"v", partition=0, callback=callback)
        assert heard.wait(WAIT_S)
        p.commit_transaction()
    assert len(refused) == 4


def test_calls_need_an_open_producer_with_a_transactional_id(producer, transactional):
    with producer() as plain:
        for call in (plain.init_transactions, plain.begin_transaction, plain.commit_transaction):
            with raises_code(IllegalStateError, "not-transactional"):
                call()
    p = transactional()
    p.close()
    for call in (p.begin_transaction, p.commit_transaction, p.abort_transaction):
        with raises_code(IllegalStateError, "producer-is-closed"):
            call()


def test_generation_needs_a_member(transactional):
    with transactional() as p:
        p.begin_transaction()
        with raises_code(UsageError, "generation-without-member"):
            p.send_offsets_to_transaction({("t", 0): OffsetAndMetadata(1)}, ConsumerGroupMetadata("g", 3))
        p.abort_transaction()


def test_close_ends_a_waiting_call(broker, transactional):
    """PRD-CLS-04: another thread closes the producer."""
    p = transactional(max_block_ms=WAIT_S * 1_000)
    p.begin_transaction()
    p.send("t", b"v", partition=0).result(WAIT_S)
    broker.brokers.fates("hold", api=Api.END_TXN)
    raised = []

    def commit():
        try:
            p.commit_transaction()
        except FatalTransactionError as error:
            raised.append(error)

    thread = threading.Thread(target=commit)
    thread.start()
    assert broker.held.wait(WAIT_S)
    p.close(timeout_s=0.1)
    thread.join(WAIT_S)
    assert [error.code for error in raised] == ["producer-closed"]
