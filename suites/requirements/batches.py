"""PRD-SPL, PRD-EXP and PRD-FIN: how batches are split, expire, and take one final state."""

from __future__ import annotations

from suites.requirements.behaviour import REFERENCE, Group, must, should

SPLIT = Group(
    "PRD-SPL",
    "Splitting of batches",
    (
        should(
            "PRD-SPL-01",
            "A batch of several records that is too large for the broker returns to the head of its queue as smaller "
            "batches, in order.",
            "KIP-126, KAFKA-8350; RecordAccumulator",
            "clients/reference/producer/batch_split.py: split",
            "clients/reference/producer/record_accumulator.py: RecordAccumulator.split_and_reenqueue",
        ),
        should(
            "PRD-SPL-02",
            "A batch of one record that the broker finds too large fails, and is not sent again.",
            "Sender",
            "clients/reference/producer/sender.py: Sender._can_split",
        ),
        should(
            "PRD-SPL-03",
            "A split costs no retry and does not extend the delivery timeout. A batch that has expired is not split.",
            "ProducerBatch, Sender",
            "clients/reference/producer/sender.py: Sender._can_split",
            "clients/reference/producer/batch_split.py: _inherit",
            scope=REFERENCE,
        ),
        must(
            "PRD-SPL-04",
            "The parts of an idempotent batch have sequences without a gap, and later batches continue them.",
            "RecordAccumulator",
            "clients/reference/producer/transaction_manager.py: TransactionManager.was_split",
            "clients/reference/producer/sequences.py: PartitionSequences.replace",
        ),
        should(
            "PRD-SPL-05",
            "A split raises the estimate of the topic's compression ratio, so that later batches are made smaller.",
            "CompressionRatioEstimator",
            "clients/reference/producer/compression_ratio_estimator.py: CompressionRatioEstimator.was_split",
            scope=REFERENCE,
        ),
        must(
            "PRD-SPL-06",
            "flush() and the futures of a split batch wait for all of its parts.",
            "KAFKA-19479; ProduceRequestResult",
            "clients/reference/producer/producer_batch.py: ProducerBatch.is_published",
            "clients/reference/producer/send_handle.py: Delivery",
        ),
    ),
)

EXPIRY = Group(
    "PRD-EXP",
    "Delivery timeout",
    (
        should(
            "PRD-EXP-01",
            "Every record ends within delivery.timeout.ms of the creation of its batch, whatever it waits for.",
            "KIP-91; ProducerBatch, Sender",
            "clients/reference/producer/producer_batch.py: ProducerBatch.has_expired",
            "clients/reference/producer/sender.py: Sender._expire",
        ),
        should(
            "PRD-EXP-02",
            "Batches expire in the queue and in flight, with a timeout that names the number of records, the "
            "partition and the elapsed time.",
            "Sender, RecordAccumulator",
            "clients/reference/producer/sender.py: Sender._expire",
            "clients/reference/producer/batch_queues.py: BatchQueues.take_expired",
            "clients/reference/producer/batch_errors.py: expired",
        ),
        must(
            "PRD-EXP-03",
            "An expired batch is not sent again and a late answer changes nothing, so the failed batch may be in the "
            "log.",
            "Sender, ProducerBatch",
            "clients/reference/producer/sender.py: Sender._handle_produce_response",
            "clients/reference/producer/producer_batch.py: ProducerBatch.outcome_of",
        ),
        should(
            "PRD-EXP-04",
            "A delivery.timeout.ms below the sum of linger.ms and request.timeout.ms is refused, or raised to the sum "
            "if it was not set.",
            "KafkaProducer",
            "clients/reference/config/producer_config.py: _settle_delivery_timeout",
        ),
        should(
            "PRD-EXP-05",
            "The loop wakes in time for the next batch to expire.",
            "RecordAccumulator",
            "clients/reference/producer/sender.py: Sender._next_expiry_ms",
            "clients/reference/producer/batch_queues.py: BatchQueues.next_expiry_ms",
        ),
        must(
            "PRD-EXP-06",
            "While it is unknown whether an expired batch was written, its partition sends no further batch.",
            "TransactionManager",
            "clients/reference/producer/sequences.py: PartitionSequences.is_unresolved",
            "clients/reference/producer/sequences.py: PartitionSequences.resolve",
        ),
        must(
            "PRD-EXP-07",
            "A batch that expires unsent has used no sequence.",
            "RecordAccumulator, TransactionManager",
            "clients/reference/producer/transaction_manager.py: TransactionManager.assign_sequence",
            "clients/reference/producer/batch_queues.py: BatchQueues.take_expired",
        ),
    ),
)

FINAL_STATE = Group(
    "PRD-FIN",
    "Final state of a batch",
    (
        must(
            "PRD-FIN-01",
            "A batch succeeds, fails or is aborted once, and then its callbacks run, once.",
            "ProducerBatch",
            "clients/reference/states.py: BATCH",
            "clients/reference/producer/producer_batch.py: ProducerBatch.publish",
        ),
        should(
            "PRD-FIN-02",
            "Results that arrive after a failure or an abort change nothing.",
            "ProducerBatch",
            "clients/reference/states.py: BATCH",
            "clients/reference/producer/producer_batch.py: ProducerBatch.succeed",
        ),
        should(
            "PRD-FIN-03",
            "A result after a success, and an abort of a batch that has ended, are internal errors.",
            "ProducerBatch",
            "clients/reference/states.py: BATCH",
            "clients/reference/producer/producer_batch.py: ProducerBatch.abort",
            scope=REFERENCE,
        ),
        must(
            "PRD-FIN-04",
            "Until it ends, a batch is in exactly one place: in its queue, in flight, or replaced by its parts.",
            "Sender, IncompleteBatches",
            "clients/reference/producer/invariants.py: misplaced",
            "clients/reference/producer/producer_batch.py: ProducerBatch.was_split",
            scope=REFERENCE,
        ),
    ),
)
