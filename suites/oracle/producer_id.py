"""The identity of a producer without transactions, from those states of TransactionManager.State that it can take."""

from __future__ import annotations

from suites.oracle.machine import LeftOut, MachineOracle, Move

_ANY_TO_FATAL = "TransactionManager.State#isTransitionValid: FATAL_ERROR is valid from every state"
_TRANSACTIONS = "A producer with a transactional.id has the machine ``transaction`` instead."

PRODUCER_ID = MachineOracle(
    name="producer-id",
    about="One machine per idempotent producer: those states of TransactionManager.State that it can take.",
    initial="UNINITIALIZED",
    requirement="PRD-IDM-11",
    moves=(
        Move(
            "UNINITIALIZED",
            "initialize",
            "INITIALIZING",
            "TransactionManager#bumpIdempotentEpochAndResetIdIfNeeded; PRD-IDM-01",
            "Java moves when it queues the request, the reference client when it sends it.",
        ),
        Move(
            "INITIALIZING",
            "initialized",
            "READY",
            "TransactionManager.InitProducerIdHandler#handleResponse on NONE",
        ),
        Move(
            "INITIALIZING",
            "refused",
            "ABORTABLE_ERROR",
            "TransactionManager.InitProducerIdHandler#handleResponse on CLUSTER_AUTHORIZATION_FAILED or "
            "TRANSACTIONAL_ID_AUTHORIZATION_FAILED: #abortableError; KAFKA-13668",
        ),
        Move(
            "ABORTABLE_ERROR",
            "batches-aborted",
            "UNINITIALIZED",
            "Sender#runOnce, #shouldHandleAuthorizationError: TransactionManager#transitionToUninitialized; "
            "SenderTest#testClusterAuthorizationExceptionInInitProducerIdRequest",
            "Java asks for a producer id again at once. The reference client first waits for its retry backoff.",
        ),
        Move(
            "READY",
            "epoch-exhausted",
            "UNINITIALIZED",
            "TransactionManager#bumpIdempotentProducerEpoch at Short.MAX_VALUE: #resetIdempotentProducerId; PRD-IDM-11",
        ),
        Move(
            "UNINITIALIZED",
            "fatal",
            "FATAL_ERROR",
            f"{_ANY_TO_FATAL}; TransactionManager#authenticationFailed",
        ),
        Move(
            "INITIALIZING",
            "fatal",
            "FATAL_ERROR",
            f"{_ANY_TO_FATAL}; TransactionManager.TxnRequestHandler#onComplete on a version mismatch, "
            "InitProducerIdHandler#handleResponse on any other error",
        ),
        Move(
            "READY",
            "fatal",
            "FATAL_ERROR",
            f"{_ANY_TO_FATAL}; TransactionManager#handleFailedBatch, #maybeTransitionToErrorState",
        ),
        Move(
            "ABORTABLE_ERROR",
            "fatal",
            "FATAL_ERROR",
            f"{_ANY_TO_FATAL}; TransactionManager#handleFailedBatch, #maybeTransitionToErrorState",
        ),
    ),
    left_out=(
        LeftOut(
            "ABORTABLE_ERROR",
            "refused",
            "ABORTABLE_ERROR",
            "TransactionManager.State#isTransitionValid; TransactionManager#failPendingRequests",
            "Only one request for a producer id is out at a time, so that no second one can be refused.",
        ),
        LeftOut(
            "FATAL_ERROR",
            "fatal",
            "FATAL_ERROR",
            "TransactionManager#transitionTo replaces the last error",
            "Every later call reports the original cause (PRD-TXN-19), so the reference client keeps the first error.",
        ),
        LeftOut(
            "READY",
            "begin-transaction",
            "IN_TRANSACTION",
            "TransactionManager#beginTransaction, and the states that follow it",
            _TRANSACTIONS,
        ),
        LeftOut(
            "COMMITTING_TRANSACTION, ABORTING_TRANSACTION",
            "transaction-completed",
            "READY, INITIALIZING",
            "TransactionManager#resetTransactionState",
            _TRANSACTIONS,
        ),
        LeftOut(
            "any state",
            "an illegal move on the I/O thread",
            "FATAL_ERROR",
            "TransactionManager#transitionTo, #shouldPoisonStateOnInvalidTransition; KAFKA-14831, PRD-TXN-03",
            "The move raises an error and changes nothing. It is a defect of the client, which no state can repair.",
        ),
    ),
)
