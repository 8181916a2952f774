"""The transactions of a producer, from TransactionManager.State."""

from __future__ import annotations

from suites.oracle.machine import LeftOut, MachineOracle, Move

_ANY_TO_FATAL = "TransactionManager.State#isTransitionValid: FATAL_ERROR is valid from every state"
_TWO_PHASES = (
    "Kafka's clients do not finish two-phase commit yet (KIP-939), so the reference client has no such state."
)
_ABORTABLE = "TransactionManager.TxnRequestHandler#abortableError: #transitionToAbortableError"

TRANSACTION = MachineOracle(
    name="transaction",
    about="One machine per producer with a transactional.id: TransactionManager.State.",
    initial="UNINITIALIZED",
    requirement="PRD-TXN-02",
    moves=(
        Move(
            "UNINITIALIZED",
            "initialize",
            "INITIALIZING",
            "KafkaProducer#initTransactions: TransactionManager#initializeTransactions; KIP-98",
        ),
        Move(
            "INITIALIZING",
            "initialized",
            "READY",
            "TransactionManager.InitProducerIdHandler#handleResponse on NONE",
        ),
        Move(
            "READY",
            "begin",
            "IN_TRANSACTION",
            "KafkaProducer#beginTransaction: TransactionManager#beginTransaction",
        ),
        Move(
            "IN_TRANSACTION",
            "commit",
            "COMMITTING_TRANSACTION",
            "KafkaProducer#commitTransaction: TransactionManager#beginCommit",
        ),
        Move(
            "IN_TRANSACTION",
            "abort",
            "ABORTING_TRANSACTION",
            "KafkaProducer#abortTransaction: TransactionManager#beginAbort; Sender#run for a producer that is closed",
        ),
        Move(
            "ABORTABLE_ERROR",
            "abort",
            "ABORTING_TRANSACTION",
            "TransactionManager#beginAbort, which an abortable error does not stop; PRD-TXN-07",
        ),
        Move(
            "COMMITTING_TRANSACTION",
            "completed",
            "READY",
            "TransactionManager.EndTxnHandler#handleResponse on NONE, #nextRequest without a transaction to end: "
            "#resetTransactionState",
        ),
        Move(
            "ABORTING_TRANSACTION",
            "completed",
            "READY",
            "TransactionManager.EndTxnHandler#handleResponse on NONE, #nextRequest without a transaction to end: "
            "#resetTransactionState",
        ),
        Move(
            "COMMITTING_TRANSACTION",
            "bump",
            "INITIALIZING",
            "TransactionManager#resetTransactionState with clientSideEpochBumpRequired, which "
            "#maybeUpdateTransactionV2Enabled sets; KIP-890",
        ),
        Move(
            "ABORTING_TRANSACTION",
            "bump",
            "INITIALIZING",
            "TransactionManager#resetTransactionState with clientSideEpochBumpRequired; KIP-360, PRD-TXN-16",
            "Java decides when the abort begins whether a new epoch is needed, the reference client when it has ended.",
        ),
        Move(
            "INITIALIZING",
            "abortable",
            "ABORTABLE_ERROR",
            f"TransactionManager.InitProducerIdHandler#handleResponse: {_ABORTABLE}; KIP-1050",
        ),
        Move(
            "IN_TRANSACTION",
            "abortable",
            "ABORTABLE_ERROR",
            f"TransactionManager#handleFailedBatch: #maybeTransitionToErrorState; {_ABORTABLE}; PRD-TXN-07",
        ),
        Move(
            "COMMITTING_TRANSACTION",
            "abortable",
            "ABORTABLE_ERROR",
            f"TransactionManager#handleFailedBatch: #maybeTransitionToErrorState; {_ABORTABLE}; PRD-TXN-07",
        ),
        Move(
            "ABORTABLE_ERROR",
            "abortable",
            "ABORTABLE_ERROR",
            f"TransactionManager.State#isTransitionValid; {_ABORTABLE}",
            "Java keeps the last error, the reference client the first: that one is the cause.",
        ),
        Move(
            "ABORTING_TRANSACTION",
            "abortable",
            "ABORTING_TRANSACTION",
            "TransactionManager#transitionToAbortableError, which ignores the error during an abort; PRD-TXN-20",
        ),
        Move(
            "ABORTABLE_ERROR",
            "batches-aborted",
            "UNINITIALIZED",
            "Sender#runOnce, #shouldHandleAuthorizationError: TransactionManager#transitionToUninitialized; "
            "KAFKA-13668",
        ),
        *(
            Move(
                state,
                "fatal",
                "FATAL_ERROR",
                f"{_ANY_TO_FATAL}; TransactionManager.TxnRequestHandler#fatalError; PRD-TXN-08, PRD-TXN-09",
            )
            for state in (
                "UNINITIALIZED",
                "INITIALIZING",
                "READY",
                "IN_TRANSACTION",
                "COMMITTING_TRANSACTION",
                "ABORTING_TRANSACTION",
                "ABORTABLE_ERROR",
            )
        ),
    ),
    left_out=(
        LeftOut(
            "FATAL_ERROR",
            "fatal",
            "FATAL_ERROR",
            "TransactionManager#transitionTo replaces the last error",
            "Every later call reports the original cause (PRD-TXN-19), so the reference client keeps the first error.",
        ),
        LeftOut(
            "INITIALIZING, IN_TRANSACTION",
            "prepare",
            "PREPARED_TRANSACTION",
            "TransactionManager#prepareTransaction, .InitProducerIdHandler#handleResponse with keepPreparedTxn",
            _TWO_PHASES,
        ),
        LeftOut(
            "PREPARED_TRANSACTION",
            "complete",
            "COMMITTING_TRANSACTION, ABORTING_TRANSACTION",
            "TransactionManager.State#isTransitionValid",
            _TWO_PHASES,
        ),
        LeftOut(
            "READY",
            "epoch-exhausted",
            "UNINITIALIZED",
            "TransactionManager#resetIdempotentProducerId, which refuses a transactional producer",
            "Only a producer without transactions raises its epoch itself. The coordinator gives the others a new id.",
        ),
        LeftOut(
            "READY, UNINITIALIZED",
            "an illegal move on the I/O thread",
            "FATAL_ERROR",
            "TransactionManager#transitionTo, #shouldPoisonStateOnInvalidTransition; KAFKA-14831, PRD-TXN-03",
            "The reference client makes the same move, as a fatal error that says what was illegal.",
        ),
    ),
    special={
        ("ABORTING_TRANSACTION", "abortable"): "PRD-TXN-20",
        ("FATAL_ERROR", "initialize"): "PRD-TXN-19",
        ("FATAL_ERROR", "begin"): "PRD-TXN-19",
        ("FATAL_ERROR", "commit"): "PRD-TXN-19",
        ("FATAL_ERROR", "abort"): "PRD-TXN-19",
        ("FATAL_ERROR", "completed"): "PRD-TXN-19",
        ("FATAL_ERROR", "bump"): "PRD-TXN-19",
        ("FATAL_ERROR", "batches-aborted"): "PRD-TXN-19",
        ("ABORTABLE_ERROR", "commit"): "PRD-TXN-07",
        ("ABORTABLE_ERROR", "completed"): "PRD-TXN-07",
    },
)
