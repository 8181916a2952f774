"""Every state machine of the producer, as data.

A machine is a table (state, event) -> next state. A missing entry is an illegal transition: requesting it raises
:class:`IllegalTransition` and changes nothing. The tables define *which* transitions exist. The component that owns a
machine defines what else happens during a transition. Tests compare every pair with the oracle
(``suites/oracle``), which is written from Kafka's sources and names the source of each transition.

There are six machines:

* CONNECTION, one per node (ClusterConnectionStates, KIP-35): a node is usable only after it has reported its API
  versions. A failed authentication passes through DISCONNECTED. Forgetting a node is not the same as disconnecting it
  (NET-INF-07).
* BATCH, one per batch (Sender and ProducerBatch.finalState): a batch is queued or in flight until it takes exactly one
  final state, or is SPLIT: replaced by its parts, which have states of their own. Results that arrive after a failure
  are expected and ignored. No result may arrive after a success.
* PRODUCER_ID, one per idempotent producer (the part of TransactionManager.State that needs no transactional id). A
  producer that may not have a producer id aborts its batches and asks again (KAFKA-13668).
* SEQUENCE, one per partition of an idempotent producer (not an enum in Java, but the same rules): whether new batches
  may be sent, only the lowest unacknowledged batch may be sent, or none until it is known whether the sequence is
  unbroken.
* TRANSACTION, one per producer with a transactional.id (TransactionManager.State): which calls the application may
  make, and what an error leaves. It includes the states of PRODUCER_ID, which such a producer does not have.
* LIFE, one per producer: open, closing (draining), closed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

S = TypeVar("S", bound="Named")
E = TypeVar("E", bound="Named")


class IllegalTransition(RuntimeError):
    """A component requested a transition that its table lacks: a defect of this client, not of the network."""


class Named(Enum):
    """A state or an event. Each member is a singleton, so the tables can hash it by identity."""

    __hash__ = object.__hash__

    def __init__(self, told: str) -> None:
        #: The stable name that the trace reports.
        self.told = told


@dataclass(frozen=True)
class Machine(Generic[S, E]):
    """A named transition table."""

    name: str
    initial: S
    transitions: Mapping[tuple[S, E], S]

    def after(self, state: S, event: E) -> S:
        """Return the next state. Raise IllegalTransition if the table has no entry."""
        try:
            return self.transitions[state, event]
        except KeyError:
            raise IllegalTransition(f"{self.name}: no {event.told} from {state.told}") from None

    def allows(self, state: S, event: E) -> bool:
        """Return whether ``after`` would give a state. Never raises."""
        return (state, event) in self.transitions


class ConnectionState(Named):
    """States of CONNECTION, one machine per node."""

    DISCONNECTED = "DISCONNECTED"
    CONNECTING = "CONNECTING"
    CHECKING_API_VERSIONS = "CHECKING_API_VERSIONS"
    READY = "READY"
    AUTHENTICATION_FAILED = "AUTHENTICATION_FAILED"


class ConnectionEvent(Named):
    """The events of CONNECTION: from the network, from a broker's responses, and from the client itself."""

    CONNECT = "connect"
    CONNECTED = "connected"
    LOWER_API_VERSIONS = "lower-api-versions"
    API_VERSIONS = "api-versions"
    DISCONNECT = "disconnect"
    AUTHENTICATION_FAILED = "authentication-failed"
    FORGET = "forget"


_C, _CE = ConnectionState, ConnectionEvent
CONNECTION: Machine[ConnectionState, ConnectionEvent] = Machine(
    "connection",
    _C.DISCONNECTED,
    {
        (_C.DISCONNECTED, _CE.CONNECT): _C.CONNECTING,
        (_C.CONNECTING, _CE.CONNECTED): _C.CHECKING_API_VERSIONS,
        (_C.CONNECTING, _CE.DISCONNECT): _C.DISCONNECTED,
        (_C.CHECKING_API_VERSIONS, _CE.LOWER_API_VERSIONS): _C.CHECKING_API_VERSIONS,
        (_C.CHECKING_API_VERSIONS, _CE.API_VERSIONS): _C.READY,
        (_C.CHECKING_API_VERSIONS, _CE.DISCONNECT): _C.DISCONNECTED,
        (_C.READY, _CE.DISCONNECT): _C.DISCONNECTED,
        (_C.DISCONNECTED, _CE.AUTHENTICATION_FAILED): _C.AUTHENTICATION_FAILED,
        (_C.AUTHENTICATION_FAILED, _CE.CONNECT): _C.CONNECTING,
        (_C.DISCONNECTED, _CE.FORGET): _C.DISCONNECTED,
        (_C.AUTHENTICATION_FAILED, _CE.FORGET): _C.DISCONNECTED,
        (_C.CONNECTING, _CE.FORGET): _C.DISCONNECTED,
        (_C.CHECKING_API_VERSIONS, _CE.FORGET): _C.DISCONNECTED,
        (_C.READY, _CE.FORGET): _C.DISCONNECTED,
    },
)


class BatchState(Named):
    """States of BATCH, one machine per batch. SPLIT ends a batch but is not a result."""

    OPEN = "OPEN"
    CLOSED = "CLOSED"
    IN_FLIGHT = "IN_FLIGHT"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    ABORTED = "ABORTED"
    SPLIT = "SPLIT"

    @property
    def is_final(self) -> bool:
        """Whether the batch has its one result (PRD-FIN-01). False for SPLIT: its parts have their own results."""
        return self in (BatchState.SUCCEEDED, BatchState.FAILED, BatchState.ABORTED)


class BatchEvent(Named):
    """The events of BATCH. SUCCEED and FAIL may also arrive late, and then change nothing (PRD-FIN-02)."""

    CLOSE = "close"
    DRAIN = "drain"
    REENQUEUE = "reenqueue"
    SUCCEED = "succeed"
    FAIL = "fail"
    ABORT = "abort"
    SPLIT = "split"


_B, _BE = BatchState, BatchEvent
BATCH: Machine[BatchState, BatchEvent] = Machine(
    "batch",
    _B.OPEN,
    {
        (_B.OPEN, _BE.CLOSE): _B.CLOSED,
        (_B.OPEN, _BE.FAIL): _B.FAILED,
        (_B.OPEN, _BE.ABORT): _B.ABORTED,
        (_B.CLOSED, _BE.DRAIN): _B.IN_FLIGHT,
        (_B.CLOSED, _BE.FAIL): _B.FAILED,
        (_B.CLOSED, _BE.ABORT): _B.ABORTED,
        (_B.IN_FLIGHT, _BE.REENQUEUE): _B.CLOSED,
        (_B.IN_FLIGHT, _BE.SUCCEED): _B.SUCCEEDED,
        (_B.IN_FLIGHT, _BE.FAIL): _B.FAILED,
        (_B.IN_FLIGHT, _BE.ABORT): _B.ABORTED,
        (_B.IN_FLIGHT, _BE.SPLIT): _B.SPLIT,
        (_B.FAILED, _BE.SUCCEED): _B.FAILED,
        (_B.FAILED, _BE.FAIL): _B.FAILED,
        (_B.ABORTED, _BE.SUCCEED): _B.ABORTED,
        (_B.ABORTED, _BE.FAIL): _B.ABORTED,
    },
)


class ProducerIdState(Named):
    """States of PRODUCER_ID, one machine per idempotent producer. FATAL_ERROR is terminal.

    ABORTABLE_ERROR lasts until the batches that wait for a producer id are aborted.
    """

    UNINITIALIZED = "UNINITIALIZED"
    INITIALIZING = "INITIALIZING"
    READY = "READY"
    ABORTABLE_ERROR = "ABORTABLE_ERROR"
    FATAL_ERROR = "FATAL_ERROR"


class ProducerIdEvent(Named):
    """The events of PRODUCER_ID: the request, its response, the last epoch (PRD-IDM-11), a permanent error."""

    INITIALIZE = "initialize"
    INITIALIZED = "initialized"
    REFUSED = "refused"
    BATCHES_ABORTED = "batches-aborted"
    EPOCH_EXHAUSTED = "epoch-exhausted"
    FATAL = "fatal"


_P, _PE = ProducerIdState, ProducerIdEvent
PRODUCER_ID: Machine[ProducerIdState, ProducerIdEvent] = Machine(
    "producer-id",
    _P.UNINITIALIZED,
    {
        (_P.UNINITIALIZED, _PE.INITIALIZE): _P.INITIALIZING,
        (_P.INITIALIZING, _PE.INITIALIZED): _P.READY,
        (_P.INITIALIZING, _PE.REFUSED): _P.ABORTABLE_ERROR,
        (_P.ABORTABLE_ERROR, _PE.BATCHES_ABORTED): _P.UNINITIALIZED,
        (_P.READY, _PE.EPOCH_EXHAUSTED): _P.UNINITIALIZED,
        (_P.UNINITIALIZED, _PE.FATAL): _P.FATAL_ERROR,
        (_P.INITIALIZING, _PE.FATAL): _P.FATAL_ERROR,
        (_P.READY, _PE.FATAL): _P.FATAL_ERROR,
        (_P.ABORTABLE_ERROR, _PE.FATAL): _P.FATAL_ERROR,
    },
)


class TransactionState(Named):
    """States of TRANSACTION, one machine per transactional producer. FATAL_ERROR is terminal.

    ABORTABLE_ERROR lasts until the application aborts the transaction, or until a refusal of the producer id has been
    reported.
    """

    UNINITIALIZED = "UNINITIALIZED"
    INITIALIZING = "INITIALIZING"
    READY = "READY"
    IN_TRANSACTION = "IN_TRANSACTION"
    COMMITTING_TRANSACTION = "COMMITTING_TRANSACTION"
    ABORTING_TRANSACTION = "ABORTING_TRANSACTION"
    ABORTABLE_ERROR = "ABORTABLE_ERROR"
    FATAL_ERROR = "FATAL_ERROR"


class TransactionEvent(Named):
    """The events of TRANSACTION: the application's four calls, how they end, and the two kinds of errors.

    BUMP ends a transaction after which the producer needs a new epoch first (KIP-360).
    """

    INITIALIZE = "initialize"
    INITIALIZED = "initialized"
    BEGIN = "begin"
    COMMIT = "commit"
    ABORT = "abort"
    COMPLETED = "completed"
    BUMP = "bump"
    ABORTABLE = "abortable"
    BATCHES_ABORTED = "batches-aborted"
    FATAL = "fatal"


_T, _TE = TransactionState, TransactionEvent
TRANSACTION: Machine[TransactionState, TransactionEvent] = Machine(
    "transaction",
    _T.UNINITIALIZED,
    {
        (_T.UNINITIALIZED, _TE.INITIALIZE): _T.INITIALIZING,
        (_T.INITIALIZING, _TE.INITIALIZED): _T.READY,
        (_T.READY, _TE.BEGIN): _T.IN_TRANSACTION,
        (_T.IN_TRANSACTION, _TE.COMMIT): _T.COMMITTING_TRANSACTION,
        (_T.IN_TRANSACTION, _TE.ABORT): _T.ABORTING_TRANSACTION,
        (_T.ABORTABLE_ERROR, _TE.ABORT): _T.ABORTING_TRANSACTION,
        (_T.COMMITTING_TRANSACTION, _TE.COMPLETED): _T.READY,
        (_T.ABORTING_TRANSACTION, _TE.COMPLETED): _T.READY,
        (_T.COMMITTING_TRANSACTION, _TE.BUMP): _T.INITIALIZING,
        (_T.ABORTING_TRANSACTION, _TE.BUMP): _T.INITIALIZING,
        (_T.INITIALIZING, _TE.ABORTABLE): _T.ABORTABLE_ERROR,
        (_T.IN_TRANSACTION, _TE.ABORTABLE): _T.ABORTABLE_ERROR,
        (_T.COMMITTING_TRANSACTION, _TE.ABORTABLE): _T.ABORTABLE_ERROR,
        (_T.ABORTABLE_ERROR, _TE.ABORTABLE): _T.ABORTABLE_ERROR,
        (_T.ABORTING_TRANSACTION, _TE.ABORTABLE): _T.ABORTING_TRANSACTION,
        (_T.ABORTABLE_ERROR, _TE.BATCHES_ABORTED): _T.UNINITIALIZED,
        (_T.UNINITIALIZED, _TE.FATAL): _T.FATAL_ERROR,
        (_T.INITIALIZING, _TE.FATAL): _T.FATAL_ERROR,
        (_T.READY, _TE.FATAL): _T.FATAL_ERROR,
        (_T.IN_TRANSACTION, _TE.FATAL): _T.FATAL_ERROR,
        (_T.COMMITTING_TRANSACTION, _TE.FATAL): _T.FATAL_ERROR,
        (_T.ABORTING_TRANSACTION, _TE.FATAL): _T.FATAL_ERROR,
        (_T.ABORTABLE_ERROR, _TE.FATAL): _T.FATAL_ERROR,
    },
)


class SequenceState(Named):
    """States of SEQUENCE, one machine per partition. Only CLEAN does not restrict new batches."""

    CLEAN = "CLEAN"
    RETRYING = "RETRYING"
    UNRESOLVED = "UNRESOLVED"
    BUMPED = "BUMPED"
    STALE_EPOCH = "STALE_EPOCH"


class SequenceEvent(Named):
    """The events of SEQUENCE: results of batches, and epoch bumps for this partition or for another one."""

    GOES_AGAIN = "goes-again"
    SETTLED = "settled"
    UNKNOWN_END = "unknown-end"
    CONTINUED = "continued"
    BROKEN = "broken"
    RESTARTED = "restarted"
    EPOCH_RAISED = "epoch-raised"


_S, _SE = SequenceState, SequenceEvent
SEQUENCE: Machine[SequenceState, SequenceEvent] = Machine(
    "sequence",
    _S.CLEAN,
    {
        (_S.CLEAN, _SE.GOES_AGAIN): _S.RETRYING,
        (_S.RETRYING, _SE.SETTLED): _S.CLEAN,
        (_S.CLEAN, _SE.UNKNOWN_END): _S.UNRESOLVED,
        (_S.RETRYING, _SE.UNKNOWN_END): _S.UNRESOLVED,
        (_S.UNRESOLVED, _SE.CONTINUED): _S.CLEAN,
        (_S.CLEAN, _SE.BROKEN): _S.BUMPED,
        (_S.RETRYING, _SE.BROKEN): _S.BUMPED,
        (_S.UNRESOLVED, _SE.BROKEN): _S.BUMPED,
        (_S.STALE_EPOCH, _SE.BROKEN): _S.BUMPED,
        (_S.BUMPED, _SE.RESTARTED): _S.CLEAN,
        (_S.STALE_EPOCH, _SE.RESTARTED): _S.CLEAN,
        (_S.CLEAN, _SE.EPOCH_RAISED): _S.STALE_EPOCH,
        (_S.RETRYING, _SE.EPOCH_RAISED): _S.STALE_EPOCH,
        (_S.UNRESOLVED, _SE.EPOCH_RAISED): _S.STALE_EPOCH,
    },
)


class LifeState(Named):
    """States of LIFE, one machine per producer. CLOSING accepts no records but still sends."""

    OPEN = "OPEN"
    CLOSING = "CLOSING"
    CLOSED = "CLOSED"


class LifeEvent(Named):
    """The events of LIFE: the application's close, and the two ways in which closing ends."""

    CLOSE = "close"
    DRAINED = "drained"
    FORCE = "force"


_L, _LE = LifeState, LifeEvent
LIFE: Machine[LifeState, LifeEvent] = Machine(
    "life",
    _L.OPEN,
    {
        (_L.OPEN, _LE.CLOSE): _L.CLOSING,
        (_L.CLOSING, _LE.CLOSE): _L.CLOSING,
        (_L.CLOSED, _LE.CLOSE): _L.CLOSED,
        (_L.CLOSING, _LE.DRAINED): _L.CLOSED,
        (_L.CLOSING, _LE.FORCE): _L.CLOSED,
    },
)
