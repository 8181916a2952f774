"""TransactionalCalls: the application's calls, and which of them the state allows.

A call that waits for brokers returns a result, for which a driver waits as long as max.block.ms. If that is too short,
the outcome is unknown, and only the same call is allowed until the application has its result (PRD-TXN-13).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from clients.reference.common.group_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from clients.reference.config.producer_config import ProducerConfig
from clients.reference.errors import IllegalStateError
from clients.reference.metadata.topic_metadata import TopicPartition
from clients.reference.ports import Jitter
from clients.reference.producer.transactions.transactional_request_result import TransactionalRequestResult
from clients.reference.producer.transactions.transactional_sequences import TransactionalSequences
from clients.reference.producer.transactions.txn_request_handlers import (
    AddOffsetsToTxnHandler,
    EndTxnHandler,
    InitProducerIdHandler,
    TxnOffsetCommitHandler,
)
from clients.reference.states import TransactionEvent, TransactionState
from clients.reference.telemetry.trace import Trace

_E, _S = TransactionEvent, TransactionState
TRANSACTION_V2 = 2


class TransactionalCalls(TransactionalSequences):
    """The calls of one transactional producer. They raise IllegalStateError or TransactionError."""

    request_result: type[TransactionalRequestResult] = TransactionalRequestResult  # a variant replaces it

    def __init__(self, config: ProducerConfig, jitter: Jitter, trace: Trace) -> None:
        super().__init__(config, jitter, trace)
        self._feature = (-1, 0)  # the epoch of the features, and the level of transaction.version

    def initialize(self, now_ms: int) -> TransactionalRequestResult:
        """Get the producer's identity, which fences every other producer with this transactional.id (PRD-TXN-01)."""
        self.transaction.fail_if_error()
        return self._cached("init_transactions", lambda call: self._begin_initializing(call, now_ms))

    def _begin_initializing(self, call: TransactionalRequestResult, now_ms: int) -> None:
        self.transaction.call(_E.INITIALIZE, call.operation, now_ms)
        timeout_ms = self._config.transaction_timeout_ms
        self.requests.add(InitProducerIdHandler(self.transactional_id, timeout_ms, call))

    def begin(self, now_ms: int) -> None:
        """Begin a transaction. Nothing is sent. Raise IllegalStateError or TransactionError."""
        self._must_not_be_pending("begin_transaction")
        self.transaction.fail_if_error()
        self.transaction.call(_E.BEGIN, "begin_transaction", now_ms)

    def begin_commit(self, now_ms: int) -> TransactionalRequestResult:
        """Begin to commit, once every batch of the transaction is stored (PRD-TXN-05)."""

        def commit(call: TransactionalRequestResult) -> None:
            self.transaction.fail_if_error()
            self.transaction.call(_E.COMMIT, call.operation, now_ms)
            self._end(call, committed=True)

        return self._cached("commit_transaction", commit)

    def begin_abort(self, now_ms: int) -> TransactionalRequestResult:
        """Begin to abort, once every batch that was sent has a result (PRD-TXN-18)."""

        def abort(call: TransactionalRequestResult) -> None:
            if self.transaction.state is not _S.ABORTABLE_ERROR:
                self.transaction.fail_if_error()
            self.transaction.call(_E.ABORT, call.operation, now_ms)
            self.transaction.new.clear()
            self._end(call, committed=False)

        return self._cached("abort_transaction", abort)

    def _end(self, call: TransactionalRequestResult, *, committed: bool) -> None:
        """Queue EndTxn, in the version of the protocol in which the transaction began. The next may have another."""
        self.requests.add(EndTxnHandler(self.transactional_id, call, committed=committed, is_v2=self.is_v2))
        was_v2 = self.is_v2
        self._apply_feature()
        if self.is_v2 and not was_v2:
            self.transaction.needs_bump = True

    def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata
    ) -> TransactionalRequestResult:
        """Store offsets of ``group`` if the transaction is committed (PRD-TXN-17)."""
        method = "send_offsets_to_transaction"
        self._must_not_be_pending(method)
        self.transaction.fail_if_error()
        if self.transaction.state is not _S.IN_TRANSACTION:
            raise self.transaction.forbidden(method)
        commit = TxnOffsetCommitHandler(group, offsets, is_v2=self.is_v2)
        if self.is_v2:
            self.transaction.is_started = True
            self.requests.add(commit)
        else:
            self.requests.add(AddOffsetsToTxnHandler(self.transactional_id, commit))
        return commit.result

    def may_send(self) -> None:
        """Raise IllegalStateError or TransactionError if no record can be sent now."""
        self.transaction.fail_if_error()
        self._must_not_be_pending("send")
        if self.transaction.state is not _S.IN_TRANSACTION:
            raise self.transaction.forbidden("send")

    def include(self, partition: TopicPartition) -> None:
        """Make the partition of a new record part of the transaction (PRD-TXN-04)."""
        self.transaction.include(partition, at_once=self.is_v2)

    def _cached(
        self, operation: str, begin: Callable[[TransactionalRequestResult], None]
    ) -> TransactionalRequestResult:
        """Begin a call, or return the result of the same call, if the application has not got it yet (PRD-TXN-13)."""
        pending = self._pending_call
        if pending and not pending.is_acked and pending.operation == operation:
            return pending
        self._must_not_be_pending(operation)
        call = self.request_result(operation)
        begin(call)
        self._pending_call = call
        return call

    def _must_not_be_pending(self, method: str) -> None:
        pending = self._pending_call
        if pending and not pending.is_acked:
            raise IllegalStateError(
                "call-pending",
                "{method}() is not possible: {pending}() took too long and must be repeated",
                method=method,
                pending=pending.operation,
            )

    def abort_to_close(self, now_ms: int) -> bool:
        """Return whether close() must wait for a transaction. Abort one that the application left open (PRD-CLS-06)."""
        if self.transaction.is_ongoing and not self.transaction.is_completing:
            self.transaction.call(_E.ABORT, "close", now_ms)
            self.transaction.new.clear()
            self._end(TransactionalRequestResult("close"), committed=False)
        return self.transaction.is_ongoing

    def broker_features(self, epoch: int, transaction_version: int) -> None:
        """Learn the features of the cluster. They apply to the next transaction (KIP-890)."""
        if epoch > self._feature[0]:
            self._feature = epoch, transaction_version

    def _apply_feature(self) -> None:
        self.is_v2 = self._feature[1] >= TRANSACTION_V2
