"""TransactionalManager: TransactionManager with a transactional.id: which request is next, and what responses leave.

It has the sequences of an idempotent producer (``TransactionalSequences``), and the application's calls
(``TransactionalCalls``). It sends nothing itself: ``next_request`` returns the request that is next, and ``answered``
takes its response.
"""

from __future__ import annotations

from clients.reference.common.requests import ClientResponse
from clients.reference.errors import TransactionError
from clients.reference.producer.producer_batch import NO_PRODUCER_ID, ProducerId
from clients.reference.producer.transactions import txn_errors
from clients.reference.producer.transactions.transactional_calls import TransactionalCalls
from clients.reference.producer.transactions.transactional_request_result import TransactionalRequestResult
from clients.reference.producer.transactions.txn_reactions import Reaction, reaction_to
from clients.reference.producer.transactions.txn_request_handlers import (
    AddPartitionsToTxnHandler,
    EndTxnHandler,
    FindCoordinatorHandler,
    InitProducerIdHandler,
    TxnOffsetCommitHandler,
    TxnRequestHandler,
)
from clients.reference.producer.transactions.txn_requests import Coordinator
from clients.reference.states import TransactionEvent, TransactionState
from harness.wire.error_table import BY_NAME, KafkaError

_E, _S = TransactionEvent, TransactionState
#: The pause before the first partition of a transaction is added, while the previous one is still being completed.
ADD_PARTITIONS_RETRY_BACKOFF_MS = 20
_UNSUPPORTED = BY_NAME["UNSUPPORTED_VERSION"]


class TransactionalManager(TransactionalCalls):
    """One transactional producer."""

    # Requests

    def next_request(self, now_ms: int, *, has_incomplete: bool) -> TxnRequestHandler | None:
        """Return the request that must be sent next. It stays queued until it is sent.

        None if there is none, if another one is in flight, or if the transaction cannot be ended yet because batches
        are incomplete.
        """
        if self.requests.in_flight or self.transaction.is_fatal:
            return None
        if self.transaction.new and not self.transaction.is_ending_badly:
            self.requests.add(AddPartitionsToTxnHandler(self.transactional_id, self.transaction.ask_to_add()))
        self._drop_pointless()
        first = self.requests.first()
        if not isinstance(first, EndTxnHandler):
            return first
        if has_incomplete or self.has_blocked_sends:
            return None
        if self.transaction.is_started:
            return first
        self.requests.waiting.remove(first)  # the coordinator knows of no transaction (PRD-TXN-06)
        self.has_ended(first, NO_PRODUCER_ID, now_ms)
        return self.next_request(now_ms, has_incomplete=has_incomplete)

    def _drop_pointless(self) -> None:
        """Drop what the failed transaction no longer needs. A lookup does no harm, and the abort may need it.

        If it is unknown whether a dropped request has begun the transaction, a new epoch ends that with certainty.
        """
        state = self.transaction.state
        for handler in list(self.requests.waiting):
            is_lookup = isinstance(handler, FindCoordinatorHandler)
            stores_offsets = isinstance(handler, TxnOffsetCommitHandler)
            if (state is _S.ABORTABLE_ERROR and not is_lookup) or (
                state is _S.ABORTING_TRANSACTION and stores_offsets
            ):
                self.requests.drop(handler, self._why_aborted())
                if handler.is_in_doubt and not self.transaction.is_started:
                    self._needs_bump()

    def _why_aborted(self) -> TransactionError:
        return self.transaction.error or txn_errors.aborted(self.transactional_id)

    def coordinator_refused(self, coordinator: Coordinator) -> None:
        """Drop the requests for a coordinator that may not be looked up, or they would ask for it without an end."""
        for handler in [each for each in self.requests.waiting if each.coordinator == coordinator]:
            self.requests.drop(handler, self._why_aborted())

    # Responses

    def answered(self, handler: TxnRequestHandler, response: ClientResponse, now_ms: int) -> None:
        """Apply the response, or its absence, to the request in flight."""
        self.requests.in_flight = None
        if self.transaction.is_fatal:
            return
        if response.version_mismatch:
            self.give_up(txn_errors.fatal(_UNSUPPORTED, handler.api, response.version_mismatch), now_ms)
        elif response.body is None:
            handler.is_in_doubt = True
            if handler.coordinator:
                self.requests.look_up(handler.coordinator, now_ms, "its connection was lost")
            self._retry(handler, now_ms)
        else:
            errors = handler.errors(response.body)
            if errors:
                self._react(handler, errors, now_ms)
            else:
                handler.succeeded(self, response.body, now_ms)

    def _react(self, handler: TxnRequestHandler, errors: list[KafkaError], now_ms: int) -> None:
        """Do what follows from the error that leaves the fewest choices."""
        reaction, error = max(
            ((reaction_to(handler.api, each), each) for each in errors), key=lambda pair: pair[0]
        )
        if reaction is Reaction.RETRY:
            self._retry(handler, now_ms, error)
        elif reaction is Reaction.LOOK_UP and handler.coordinator:
            self.requests.look_up(handler.coordinator, now_ms, error.name)
            self._retry(handler, now_ms, error)
        elif reaction is Reaction.ABORTABLE:
            self._must_be_aborted(handler, error, now_ms)
        elif reaction is Reaction.RECOVER and (self._can_bump or self.is_v2):
            self._needs_bump()
            self._must_be_aborted(handler, error, now_ms)
        elif reaction is Reaction.REFUSED:
            self._was_refused(handler, error, now_ms)
        elif reaction is Reaction.FENCED:
            self.give_up(txn_errors.fenced(self.transactional_id, self.producer_id), now_ms)
        else:
            self.give_up(txn_errors.fatal(error, handler.api), now_ms)

    def _retry(self, handler: TxnRequestHandler, now_ms: int, error: KafkaError | None = None) -> None:
        """Queue a request again. The first partition waits only briefly for the previous transaction (PRD-TXN-11)."""
        delay_ms = self._config.retry_backoff_ms
        is_first = isinstance(handler, AddPartitionsToTxnHandler) and not self.transaction.added
        if is_first and error and error.name == "CONCURRENT_TRANSACTIONS":
            delay_ms = min(delay_ms, ADD_PARTITIONS_RETRY_BACKOFF_MS)
        self.requests.add(handler, now_ms + delay_ms)

    def _must_be_aborted(self, handler: TxnRequestHandler, error: KafkaError, now_ms: int) -> None:
        """End a request with an error that an abort repairs. If it was the abort itself, nothing does (PRD-TXN-20)."""
        if isinstance(handler, EndTxnHandler) and self.transaction.state is _S.ABORTING_TRANSACTION:
            self.give_up(txn_errors.fatal(error, handler.api), now_ms)
            return
        if isinstance(handler, InitProducerIdHandler) and not self.producer_id.is_valid:
            self._was_refused(handler, error, now_ms)  # there is no transaction to abort
            return
        if isinstance(handler, InitProducerIdHandler):
            self._needs_bump()
        failure = txn_errors.abortable(error, handler.api)
        handler.result.fail(failure)
        self._happened(_E.ABORTABLE, now_ms, failure)
        handler.refused(self)

    def _was_refused(self, handler: TxnRequestHandler, error: KafkaError, now_ms: int) -> None:
        failure = txn_errors.abortable(error, handler.api)
        handler.result.fail(failure)
        self._happened(_E.ABORTABLE, now_ms, failure)
        self.abortable_error = error

    def batches_were_aborted(self, now_ms: int) -> None:
        """Leave the state of a refused producer id, so that init_transactions() can be repeated (KAFKA-13668)."""
        self.abortable_error = None
        self._happened(_E.BATCHES_ABORTED, now_ms)

    def was_initialized(
        self, producer_id: ProducerId, result: TransactionalRequestResult, now_ms: int
    ) -> None:
        """Adopt the identity, for the first time or after a transaction that failed."""
        if not self.producer_id.is_valid:
            self._apply_feature()
        self._happened(_E.INITIALIZED, now_ms)
        self._assume(producer_id, now_ms)
        result.done()

    def has_ended(self, handler: EndTxnHandler, next_id: ProducerId, now_ms: int) -> None:
        """Complete the transaction. ``next_id`` is the identity of the next one, if the coordinator gave one."""
        needs_bump = self.transaction.needs_bump
        self._happened(_E.BUMP if needs_bump else _E.COMPLETED, now_ms)
        self.transaction.forget()
        if next_id.is_valid:
            self._assume(next_id, now_ms)
        if needs_bump:
            timeout_ms, known = self._config.transaction_timeout_ms, self.producer_id
            self.requests.add(InitProducerIdHandler(self.transactional_id, timeout_ms, handler.result, known))
        else:
            handler.result.done()
