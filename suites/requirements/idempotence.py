"""PRD-IDM: producer ids, epochs and sequences."""

from __future__ import annotations

from suites.requirements.behaviour import Group, must, should

IDEMPOTENCE = Group(
    "PRD-IDM",
    "Idempotence",
    (
        must(
            "PRD-IDM-01",
            "An idempotent producer has a producer id and an epoch before it produces, and writes them into every "
            "batch.",
            "KIP-98, KIP-679; TransactionManager",
            "clients/reference/producer/init_producer_id.py: InitProducerIdHandler",
            "clients/reference/producer/transaction_manager.py: TransactionManager.initialized",
            "clients/reference/common/requests.py: init_producer_id_request",
        ),
        must(
            "PRD-IDM-02",
            "Sequences of a partition start at 0, count records, and wrap from 2147483647 to 0.",
            "TransactionManager, DefaultRecordBatch",
            "clients/reference/producer/sequences.py: PartitionSequences.assign",
            "harness/wire/records/model.py: increment_sequence",
        ),
        must(
            "PRD-IDM-03",
            "A batch that is sent again has the producer id, epoch and sequence of the first attempt.",
            "RecordAccumulator",
            "clients/reference/producer/producer_batch.py: ProducerBatch.assign_sequence",
            "clients/reference/producer/batch_drain.py: BatchDrain._prepare",
        ),
        must(
            "PRD-IDM-04",
            "At most five batches of a partition are in flight, because the broker remembers five.",
            "KAFKA-5494; ProducerConfig, ProducerStateEntry",
            "clients/reference/config/producer_config.py: MAX_IN_FLIGHT_IDEMPOTENT",
            "clients/reference/producer/sequences.py: PartitionSequences.most_in_flight",
        ),
        must(
            "PRD-IDM-05",
            "A batch that is already in the log is acknowledged with its first offset and is not written twice.",
            "ProducerStateEntry, Sender",
            "clients/reference/producer/sender.py: Sender._succeed_batch",
            "harness/brokers/scripted/producer_state.py: ProducerStateEntry.find_duplicate",
        ),
        should(
            "PRD-IDM-06",
            "DUPLICATE_SEQUENCE is a success whose offset is unknown.",
            "Sender, ProducerAppendInfo",
            "clients/reference/producer/sender.py: Sender._succeed_batch",
        ),
        must(
            "PRD-IDM-07",
            "If one of several batches in flight must be sent again, all that follow it are sent again too, by "
            "sequence, and the first is sent alone until it is written.",
            "RecordAccumulator",
            "clients/reference/producer/batch_queues.py: BatchQueues.insert_in_sequence_order",
            "clients/reference/producer/transaction_manager.py: TransactionManager.pick",
            "clients/reference/producer/sequences.py: PartitionSequences.may_go_again",
        ),
        should(
            "PRD-IDM-08",
            "OUT_OF_ORDER_SEQUENCE_NUMBER for a batch with others in flight before it only causes a retry.",
            "TransactionManager",
            "clients/reference/producer/sequences.py: PartitionSequences.is_broken_at",
            "clients/reference/producer/transaction_manager.py: TransactionManager.can_retry",
        ),
        should(
            "PRD-IDM-09",
            "The same error for the next expected batch bumps the epoch: the partition starts again at 0, and the "
            "producer stays alive.",
            "KIP-360; TransactionManager",
            "clients/reference/producer/sequences.py: PartitionSequences.is_broken_at",
            "clients/reference/producer/transaction_manager.py: TransactionManager.request_restart",
        ),
        must(
            "PRD-IDM-10",
            "Other partitions finish their batches in flight under the old epoch before they start at 0 under the new "
            "one.",
            "KAFKA-12152; TransactionManager",
            "clients/reference/producer/sequences.py: PartitionSequences.epoch_was_raised",
            "clients/reference/producer/sequences.py: PartitionSequences.restart",
        ),
        should(
            "PRD-IDM-11",
            "After epoch 32767 the producer gets a new producer id.",
            "TransactionManager",
            "clients/reference/producer/transaction_manager.py: TransactionManager._bump_epoch",
            "clients/reference/states.py: PRODUCER_ID",
        ),
        should(
            "PRD-IDM-12",
            "A batch refused with UNKNOWN_PRODUCER_ID is sent again, unchanged if the log's start offset is unknown, "
            "else with sequences that start again.",
            "TransactionManager",
            "clients/reference/producer/transaction_manager.py: TransactionManager.can_retry",
        ),
        must(
            "PRD-IDM-13",
            "Sequences of a batch that may or may not be written are never given to other records in that epoch.",
            "TransactionManager",
            "clients/reference/producer/transaction_manager.py: TransactionManager.failed",
        ),
        must(
            "PRD-IDM-14",
            "The broker refuses an epoch older than the one it knows, and a new epoch that does not start at 0.",
            "ProducerAppendInfo",
            "harness/brokers/scripted/producer_state.py: ProducerStateEntry.check",
            "clients/reference/producer/sequences.py: PartitionSequences.restart",
        ),
        must(
            "PRD-IDM-15",
            "A producer that the broker has forgotten continues with its next sequence, without a lost record or a "
            "fatal error.",
            "ProducerAppendInfo",
            "harness/brokers/scripted/producer_state.py: ProducerStateManager.entry",
            "clients/reference/producer/sequences.py: PartitionSequences.assign",
        ),
        must(
            "PRD-IDM-16",
            "A record that the application sends again is a new record: after a reported failure it may be the second "
            "copy.",
            "KafkaProducer",
            "clients/reference/producer/producer.py: ProducerCore.send",
        ),
    ),
)
