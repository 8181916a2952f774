"""TransactionalSequences: the sequences of a transactional producer, and what a failure leaves of its transaction.

Two rules differ from those of an idempotent producer, because a transaction can be aborted:

* A batch that fails, or whose outcome is unknown, makes the transaction abortable (PRD-TXN-07). Nothing is restamped.
* The epoch is raised only at the end of a transaction, and by the coordinator: by every EndTxn of the second version of
  the protocol (KIP-890), or by an InitProducerId after a transaction that failed (KIP-360, PRD-TXN-16). Whether it is
  needed is decided when the transaction has ended. Java decides when the abort begins, and then corrects the sequences
  of batches that fail later.

A coordinator that can do neither (before Kafka 2.5) leaves a failed batch no way out, so the error is fatal.
"""

from __future__ import annotations

from collections.abc import Sequence

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.errors import FatalTransactionError, SendError, TransactionError
from clients.reference.ports import Jitter
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.transaction_manager import TransactionManager
from clients.reference.producer.transactions import txn_errors
from clients.reference.producer.transactions.transaction import Transaction
from clients.reference.producer.transactions.transactional_request_result import TransactionalRequestResult
from clients.reference.producer.transactions.txn_reactions import FATAL_FOR_BATCHES
from clients.reference.producer.transactions.txn_request_queue import TxnRequestQueue
from clients.reference.states import TransactionEvent
from clients.reference.telemetry.trace import Trace
from harness.wire.error_table import BY_NAME, KafkaError

_OUT_OF_ORDER = BY_NAME["OUT_OF_ORDER_SEQUENCE_NUMBER"].code
_UNKNOWN_PRODUCER = BY_NAME["UNKNOWN_PRODUCER_ID"].code


class TransactionalSequences(TransactionManager):
    """``transaction`` is the current one, ``requests`` are those of it that have no response.

    ``unsent_failure`` is set to the error of a record that failed before it was in a batch.
    ``is_v2`` says which version of the protocol it uses, and ``has_blocked_sends`` that records of it wait for metadata
    or memory.
    """

    transaction_state: type[Transaction] = Transaction  # a variant of the client replaces it

    def __init__(self, config: ProducerConfig, jitter: Jitter, trace: Trace) -> None:
        super().__init__(config, jitter, trace)
        self._config = config
        self.transactional_id = config.transactional_id or ""
        self.transaction = self.transaction_state(self.transactional_id, trace)
        self.requests = TxnRequestQueue(trace)
        self.is_v2 = False
        self.has_blocked_sends = False
        self.unsent_failure: SendError | None = None
        self._pending_call: TransactionalRequestResult | None = None
        self._can_bump = False

    # Batches

    @property
    def is_completing(self) -> bool:
        """Whether batches must not linger, because the transaction is being completed."""
        return self.transaction.is_completing

    def pick(self, queue: Sequence[ProducerBatch]) -> ProducerBatch | None:
        """Return the batch that may be sent now: of partitions that are part of the transaction (PRD-TXN-04)."""
        oldest = queue[0]
        is_new = not oldest.has_sequence
        if oldest.partition not in self.transaction.added or (is_new and self.transaction.is_ending_badly):
            return None
        return super().pick(queue)

    def failed(self, batch: ProducerBatch, error: KafkaError, *, is_definite: bool, now_ms: int) -> None:
        """Make the transaction abortable, or the producer fatal (PRD-TXN-07, -08)."""
        self._entry(batch.partition).forget(batch, now_ms)
        if error.name in FATAL_FOR_BATCHES or not (self._can_bump or self.is_v2):
            is_fenced = error.name == "PRODUCER_FENCED"
            fenced = txn_errors.fenced(self.transactional_id, self.producer_id)
            self.give_up(fenced if is_fenced else txn_errors.fatal(error), now_ms)
        else:
            self._needs_bump()
            self._happened(TransactionEvent.ABORTABLE, now_ms, txn_errors.batch_failed(batch, error))

    def settle_unsent_failure(self, now_ms: int) -> None:
        """Make the transaction abortable, if a record failed that was in no batch yet (PRD-TXN-07)."""
        failure, self.unsent_failure = self.unsent_failure, None
        if failure and self.transaction.is_ongoing and not self.transaction.is_ending_badly:
            self._happened(TransactionEvent.ABORTABLE, now_ms, txn_errors.record_failed(failure))

    def can_retry(self, batch: ProducerBatch, error: KafkaError, log_start_offset: int, now_ms: int) -> bool:
        """Return whether a rejected batch may be retried. A gap before it only closes if an earlier batch is in flight.

        A transaction that must be aborted anyway does not wait for a gap to close.
        """
        if self.transaction.is_fatal:
            return False
        if error.code == _OUT_OF_ORDER:
            is_first = self._entry(batch.partition).may_go_again(batch)
            return not is_first and not self.transaction.is_ending_badly
        if error.code == _UNKNOWN_PRODUCER:
            return log_start_offset < 0
        return error.retriable

    # Errors

    def fail_fatally(self, error: KafkaError, now_ms: int) -> None:
        """Enter the fatal state because of an error that no response of this manager's requests told."""
        self.give_up(txn_errors.fatal(error), now_ms)

    def give_up(self, error: FatalTransactionError, now_ms: int) -> None:
        """Enter the fatal state. Every call that waits fails, and nothing more is sent (PRD-TXN-19)."""
        self._happened(TransactionEvent.FATAL, now_ms, error)

    def _happened(self, event: TransactionEvent, now_ms: int, error: TransactionError | None = None) -> None:
        self.transaction.happened(event, now_ms, error)
        fatal = self.transaction.error
        if isinstance(fatal, FatalTransactionError) and self.fatal_error is None:
            self.fatal_error = fatal.error
            self._fail_calls(fatal)

    def closed(self) -> None:
        """Fail the calls that wait, since nothing more is sent (PRD-CLS-04)."""
        self._fail_calls(txn_errors.closed())

    def _fail_calls(self, error: FatalTransactionError) -> None:
        pending_call = [self._pending_call] if self._pending_call else []
        for result in [*self.requests.results(), *pending_call]:
            result.fail(error)
        self.requests.waiting.clear()

    def _needs_bump(self) -> None:
        """Raise the epoch after this transaction, unless its EndTxn does that anyway."""
        self.transaction.needs_bump = self.transaction.needs_bump or not self.is_v2

    def coordinator_is_ready(self, *, can_bump: bool) -> None:
        """Learn whether the transaction coordinator can raise the epoch of a known producer (KIP-360)."""
        self._can_bump = can_bump
