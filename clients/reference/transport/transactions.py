"""Transactions: the calls of a transactional producer, which block like Kafka's for at most max.block.ms.

    producer.init_transactions()
    with producer.transaction():
        producer.send("topic", b"value")

``KafkaProducer`` has these methods. A call that a callback makes would wait for itself, so it is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import monotonic_ns

from clients.reference.common.group_offsets import (
    UNKNOWN_MEMBER_ID,
    ConsumerGroupMetadata,
    OffsetAndMetadata,
)
from clients.reference.errors import TransactionError
from clients.reference.metadata.topic_metadata import TopicPartition
from clients.reference.producer.producer import ProducerCore
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.transport.blocking import Blocking
from clients.reference.transport.io_thread import now_ms
from clients.reference.transport.wakeup import WakeupCondition
from harness.model.errors import UsageError


class TransactionalProducer:
    """The calls of transactions of a producer. They need transactional.id.

    Each raises IllegalStateError without a transactional.id, after close(), in a callback, in a state that does not
    allow the call, and while an earlier call that took too long has not been repeated. Each raises
    FatalTransactionError if the producer can only be closed (such as ProducerFencedError), and the client's
    TimeoutError after max.block.ms.
    """

    _core: ProducerCore
    _blocking: Blocking
    _news: WakeupCondition

    def _must_not_wait(self, method: str) -> None:
        raise NotImplementedError

    def _must_be_open(self) -> None:
        raise NotImplementedError

    def init_transactions(self) -> None:
        """Get an identity, and end what an earlier producer with this transactional.id has left open (PRD-TXN-01).

        Call it once, before anything else. Raise TransactionError if the permission is missing: it may be repeated.
        """
        transactions = self._transactions("init_transactions")
        self._blocking.until_completed(transactions.initialize, "txn-init-time-ns")

    def begin_transaction(self) -> None:
        """Begin a transaction. Every record is sent in one. Raise TransactionError if the last one must be aborted."""
        transactions = self._transactions("begin_transaction")
        began_ns = monotonic_ns()
        with self._news:
            transactions.begin(now_ms())
            self._blocking.measured("txn-begin-time-ns", began_ns)

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group_metadata: ConsumerGroupMetadata
    ) -> None:
        """Commit offsets of a consumer group with the transaction, by (topic, partition) (PRD-TXN-17, KIP-447).

        ``group_metadata`` is the consumer's ``group_metadata()``, so that a consumer that has left is refused. Raise
        UsageError for a generation without a member, TransactionError if the transaction must be aborted.
        """
        transactions = self._transactions("send_offsets_to_transaction")
        if group_metadata.generation_id > 0 and group_metadata.member_id == UNKNOWN_MEMBER_ID:
            raise UsageError("generation-without-member", "group_metadata has a generation and no member id")
        if offsets:
            self._blocking.until_completed(
                lambda at_ms: transactions.send_offsets(offsets, group_metadata), "txn-send-offsets-time-ns"
            )

    def commit_transaction(self) -> None:
        """Send what is buffered, and commit once every record is stored (PRD-TXN-05).

        Raise TransactionError if a record was not stored: the transaction must be aborted (PRD-TXN-07).
        """
        transactions = self._transactions("commit_transaction")
        self._blocking.until_completed(transactions.begin_commit, "txn-commit-time-ns")

    def abort_transaction(self) -> None:
        """Drop what was not sent, and abort once everything that was sent has a result (PRD-TXN-18)."""
        transactions = self._transactions("abort_transaction")
        self._blocking.until_completed(transactions.begin_abort, "txn-abort-time-ns")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Begin a transaction, and commit it at the end of the block. Abort it if the block or the commit fails.

        The exception is raised after the abort. A producer that can only be closed aborts nothing.
        """
        self.begin_transaction()
        try:
            yield
            self.commit_transaction()
        except TransactionError as error:
            if not error.is_fatal:
                self.abort_transaction()
            raise
        except Exception:
            self._abort_if_possible()
            raise

    def _abort_if_possible(self) -> None:
        """Abort after an exception of the application, whose reason matters more than that of a failed abort."""
        with self._news:
            transaction = self._core.transactions.transaction
            can_be_aborted = self._core.is_open and transaction.is_ongoing and not transaction.is_completing
        if can_be_aborted:
            self.abort_transaction()

    def _transactions(self, method: str) -> TransactionalManager:
        self._must_not_wait(method)
        self._must_be_open()
        return self._core.transactions
