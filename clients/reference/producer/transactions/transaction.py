"""Transaction: the state of the producer's transactions, and the partitions of the current one.

Two kinds of events move it. A call of the application that the state forbids raises IllegalStateError and changes
nothing (PRD-TXN-02). An event of the client itself that the state forbids is a defect: it makes the producer fatal, so
that nothing more is promised (PRD-TXN-03, KAFKA-14831).
"""

from __future__ import annotations

from clients.reference.errors import (
    FatalTransactionError,
    IllegalStateError,
    TransactionError,
)
from clients.reference.metadata.topic_metadata import TopicPartition
from clients.reference.states import TRANSACTION, TransactionEvent, TransactionState
from clients.reference.telemetry.trace import StateChanged, Trace
from harness.wire.error_table import BY_NAME

_S, _E = TransactionState, TransactionEvent
_COMPLETING = (_S.COMMITTING_TRANSACTION, _S.ABORTING_TRANSACTION)
_ENDING_BADLY = (_S.ABORTING_TRANSACTION, _S.ABORTABLE_ERROR)
_ERRORS = (_S.ABORTABLE_ERROR, _S.FATAL_ERROR)
_ONGOING = (_S.IN_TRANSACTION, _S.ABORTABLE_ERROR, *_COMPLETING)
_ILLEGAL = BY_NAME["UNKNOWN_SERVER_ERROR"]


class Transaction:
    """The state, the error that led to it, and which partitions belong to the transaction.

    Under the first version of the protocol a partition is ``new`` until its AddPartitionsToTxn is sent, ``pending``
    until the response, and then ``added``. Under the second it is added at once. ``is_started`` says that the
    coordinator has a transaction to end. ``needs_bump`` says that the next one needs another epoch (PRD-TXN-16).
    """

    def __init__(self, transactional_id: str, trace: Trace) -> None:
        self._transactional_id = transactional_id
        self._trace = trace
        self.state = TRANSACTION.initial
        self.error: TransactionError | None = None
        self.new: dict[TopicPartition, None] = {}
        self.pending: dict[TopicPartition, None] = {}
        self.added: dict[TopicPartition, None] = {}
        self.is_started = False
        self.needs_bump = False

    # Queries

    @property
    def is_completing(self) -> bool:
        """Whether a commit or an abort is in progress."""
        return self.state in _COMPLETING

    @property
    def is_ending_badly(self) -> bool:
        """Whether the transaction is being aborted, or must be: records that were not sent need not be."""
        return self.state in _ENDING_BADLY

    @property
    def cannot_commit(self) -> bool:
        """Whether no further record of the transaction can be stored."""
        return self.is_ending_badly or self.is_fatal

    @property
    def is_ongoing(self) -> bool:
        """Whether there is a transaction that has not ended."""
        return self.state in _ONGOING

    @property
    def is_fatal(self) -> bool:
        """Whether only close() is left."""
        return self.state is _S.FATAL_ERROR

    def fail_if_error(self) -> None:
        """Raise the error that the producer is in, if it is in one (PRD-TXN-19). An abort has left it already."""
        if self.error is not None and self.state in _ERRORS:
            raise self.error.again()

    # Events

    def call(self, event: TransactionEvent, method: str, now_ms: int) -> None:
        """Make the move of a call of the application. Raise IllegalStateError if the state forbids it (PRD-TXN-02)."""
        if not TRANSACTION.allows(self.state, event):
            raise self.forbidden(method)
        self._move(event, now_ms)

    def forbidden(self, method: str) -> IllegalStateError:
        """Return the error of a call that the state forbids."""
        return IllegalStateError(
            "transaction-state",
            "{method}() is not possible: the producer with transactional.id {transactional_id!r} is {state}",
            method=method,
            transactional_id=self._transactional_id,
            state=self.state.told,
        )

    def happened(self, event: TransactionEvent, now_ms: int, error: TransactionError | None = None) -> None:
        """Make the move of an event of the client. One that the state forbids makes the producer fatal (PRD-TXN-03).

        A fatal producer stays as it is, with its first error.
        """
        if self.is_fatal:
            return
        if not TRANSACTION.allows(self.state, event):
            error = FatalTransactionError(
                _ILLEGAL,
                "illegal-transition",
                "the client is broken: {event} in the state {state}",
                event=event.told,
                state=self.state.told,
            )
            event = _E.FATAL
        keeps_error = event is _E.ABORTABLE and self.is_ending_badly
        self._move(event, now_ms, error.name if error else "")
        if not keeps_error:
            self.error = error

    def _move(self, event: TransactionEvent, now_ms: int, detail: str = "") -> None:
        before = self.state
        self.state = TRANSACTION.after(before, event)
        self._trace(
            StateChanged(
                at_ms=now_ms,
                machine=TRANSACTION.name,
                subject="",
                before=before.told,
                cause=event.told,
                after=self.state.told,
                detail=detail,
            )
        )

    # Partitions

    def include(self, partition: TopicPartition, *, at_once: bool) -> None:
        """Make a partition part of the transaction. ``at_once``: the first Produce adds it (KIP-890)."""
        if at_once:
            self.added[partition] = None
            self.is_started = True
        elif partition not in self.added and partition not in self.pending:
            self.new[partition] = None

    def ask_to_add(self) -> tuple[TopicPartition, ...]:
        """Return the partitions that must be added now. They are pending from now on."""
        partitions = tuple(self.new)
        self.pending.update(self.new)
        self.new.clear()
        return partitions

    def answered(self, partitions: tuple[TopicPartition, ...], *, were_added: bool) -> None:
        """Record the answer for pending partitions. Those that were not added can be sent nothing (PRD-TXN-04)."""
        for partition in partitions:
            self.pending.pop(partition, None)
        if were_added:
            self.added.update(dict.fromkeys(partitions))
            self.is_started = True

    def forget(self) -> None:
        """Forget the transaction that has ended."""
        self.new.clear()
        self.pending.clear()
        self.added.clear()
        self.is_started = self.needs_bump = False
