"""PRD-TXN: transactions of a producer."""

from __future__ import annotations

from suites.requirements.behaviour import REFERENCE, Group, must, should

_AT = "clients/reference/producer/transactions"
_CALLS = f"{_AT}/transactional_calls.py: TransactionalCalls"
_MANAGER = f"{_AT}/transactional_manager.py: TransactionalManager"
_SEQUENCES = f"{_AT}/transactional_sequences.py: TransactionalSequences"
_STATE = f"{_AT}/transaction.py: Transaction"
_HANDLERS = f"{_AT}/txn_request_handlers.py"

TRANSACTIONS = Group(
    "PRD-TXN",
    "Transactions",
    (
        must(
            "PRD-TXN-01",
            "init_transactions() gets a producer id and an epoch for the transactional.id, which fences every "
            "earlier producer of that name.",
            "KIP-98; TransactionManager",
            f"{_CALLS}.initialize",
            f"{_HANDLERS}: InitProducerIdHandler",
        ),
        should(
            "PRD-TXN-02",
            "A call that the state of the transaction forbids is refused, and leaves the state.",
            "TransactionManager",
            f"{_STATE}.call",
            "clients/reference/states.py: TRANSACTION",
        ),
        should(
            "PRD-TXN-03",
            "A move that the client itself makes and that no table has is fatal, so that nothing more is "
            "promised.",
            "KAFKA-14831; TransactionManager",
            f"{_STATE}.happened",
            scope=REFERENCE,
        ),
        must(
            "PRD-TXN-04",
            "Without KIP-890, a partition is produced to only after AddPartitionsToTxn has succeeded for it. With"
            " it, the first Produce adds the partition.",
            "KIP-98, KIP-890; TransactionManager",
            f"{_STATE}.include",
            f"{_SEQUENCES}.pick",
            f"{_HANDLERS}: AddPartitionsToTxnHandler",
        ),
        must(
            "PRD-TXN-05",
            "EndTxn is sent only when every batch of the transaction has a result, and a commit ends all "
            "lingering.",
            "TransactionManager, Sender",
            f"{_MANAGER}.next_request",
            "clients/reference/producer/record_accumulator.py: RecordAccumulator.has_incomplete",
        ),
        should(
            "PRD-TXN-06",
            "A transaction to which nothing was added ends without EndTxn.",
            "TransactionManager",
            f"{_MANAGER}.next_request",
        ),
        must(
            "PRD-TXN-07",
            "If a batch fails or expires, the commit fails, the abort works, and the next transaction can be "
            "committed.",
            "TransactionManager",
            f"{_SEQUENCES}.failed",
        ),
        should(
            "PRD-TXN-08",
            "PRODUCER_FENCED and INVALID_PRODUCER_EPOCH from a coordinator are fatal. INVALID_PRODUCER_EPOCH on "
            "Produce only makes the transaction abortable.",
            "KIP-588; TransactionManager",
            f"{_AT}/txn_reactions.py: reaction_to",
            f"{_AT}/txn_reactions.py: FATAL_FOR_BATCHES",
        ),
        should(
            "PRD-TXN-09",
            "A missing permission for the transactional.id, INVALID_TXN_STATE and INVALID_PRODUCER_ID_MAPPING are"
            " fatal. Missing permissions for topics and groups, and TRANSACTION_ABORTABLE, are not.",
            "KIP-890, KIP-1050; TransactionManager",
            f"{_AT}/txn_reactions.py: reaction_to",
        ),
        should(
            "PRD-TXN-10",
            "After NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE or a lost connection the coordinator is looked up "
            "and the same request is sent again.",
            "TransactionManager",
            f"{_AT}/txn_request_queue.py: TxnRequestQueue.look_up",
            f"{_AT}/transactional_requests.py: TransactionalRequests",
        ),
        should(
            "PRD-TXN-11",
            "CONCURRENT_TRANSACTIONS is retried, for the first partition of a transaction after only 20 ms.",
            "TransactionManager",
            f"{_MANAGER}._retry",
        ),
        should(
            "PRD-TXN-12",
            "One request to a coordinator is out at a time: lookups first, then the identity, partitions and "
            "offsets, the end, and a new epoch.",
            "TransactionManager",
            f"{_HANDLERS}: Priority",
            f"{_AT}/txn_request_queue.py: TxnRequestQueue.first",
        ),
        should(
            "PRD-TXN-13",
            "After a call that took too long, only the same call is allowed, and it waits for the first one's "
            "result.",
            "TransactionManager",
            f"{_CALLS}._cached",
            "clients/reference/transport/blocking.py: Blocking.until_completed",
        ),
        must(
            "PRD-TXN-14",
            "An EndTxn whose answer is lost is repeated, and the transaction is ended once.",
            "TransactionManager, TransactionCoordinator",
            f"{_MANAGER}.answered",
        ),
        must(
            "PRD-TXN-15",
            "The coordinator gets transaction.timeout.ms. A transaction that it has aborted for its age is not "
            "committed.",
            "KIP-588; TransactionStateManager",
            f"{_HANDLERS}: InitProducerIdHandler",
            "clients/reference/config/producer_config.py: KEYS",
        ),
        must(
            "PRD-TXN-16",
            "After a failed transaction the next one has a higher epoch or a new id, and its sequences begin at "
            "0. With KIP-890 every EndTxn brings one.",
            "KIP-360, KIP-890; TransactionManager",
            f"{_MANAGER}.has_ended",
            f"{_MANAGER}.was_initialized",
        ),
        must(
            "PRD-TXN-17",
            "send_offsets_to_transaction() commits offsets with the records, and tells the generation and member "
            "that have read them.",
            "KIP-447; TransactionManager",
            f"{_CALLS}.send_offsets",
            f"{_HANDLERS}: TxnOffsetCommitHandler",
        ),
        should(
            "PRD-TXN-18",
            "An abort fails the records that were not sent, and waits for those that were.",
            "RecordAccumulator, Sender",
            "clients/reference/producer/sender.py: Sender.abort_undrained",
            "clients/reference/producer/batch_errors.py: transaction_aborted",
        ),
        should(
            "PRD-TXN-19",
            "After a fatal error every call raises the original cause, and nothing but close() is possible.",
            "TransactionManager",
            f"{_STATE}.fail_if_error",
            f"{_SEQUENCES}.give_up",
        ),
        should(
            "PRD-TXN-20",
            "An error during an abort does not stop it, unless the abort itself is refused, which is fatal.",
            "TransactionManager",
            f"{_STATE}.happened",
            f"{_MANAGER}._must_be_aborted",
            scope=REFERENCE,
        ),
    ),
)
