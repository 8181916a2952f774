"""PRD-SND: what becomes of a batch that was sent: answers, errors, retries."""

from __future__ import annotations

from suites.requirements.behaviour import Group, must, should

SENDER = Group(
    "PRD-SND",
    "Answers, errors and retries",
    (
        must(
            "PRD-SND-01",
            "A record that was written is told its own offset, counted on from its batch's, and its timestamp.",
            "ProducerBatch, FutureRecordMetadata",
            "clients/reference/producer/producer_batch.py: RecordMetadata",
            "clients/reference/producer/producer_batch.py: ProducerBatch.metadata_of",
        ),
        should(
            "PRD-SND-02",
            "After a retriable error the same batch is sent again after its backoff, while retries and "
            "delivery.timeout.ms allow it.",
            "Sender, Errors",
            "clients/reference/producer/sender.py: Sender._can_retry",
            "clients/reference/producer/sender.py: Sender._reenqueue_batch",
            "harness/wire/error_table.py: ERRORS",
        ),
        should(
            "PRD-SND-03",
            "After any other error the batch fails with it and is not sent again.",
            "Sender, Errors",
            "clients/reference/producer/sender.py: Sender._fail_batch",
            "clients/reference/producer/batch_errors.py: refused",
        ),
        must(
            "PRD-SND-04",
            "Every partition of an answer stands for itself: one that failed changes nothing for the others.",
            "Sender",
            "clients/reference/producer/sender.py: Sender._handle_produce_response",
        ),
        should(
            "PRD-SND-05",
            "A batch that the answer leaves out waits for its delivery timeout; an answer for what was not asked is an "
            "internal error.",
            "Sender",
            "clients/reference/producer/sender.py: Sender._handle_produce_response",
            "clients/reference/producer/sender.py: Sender._answers",
        ),
        must(
            "PRD-SND-06",
            "What was out on a lost connection is sent again, though the broker may have written it.",
            "Sender",
            "clients/reference/producer/sender.py: Sender._error_of_lost_request",
            "clients/reference/producer/sender.py: Sender._can_retry",
        ),
        should(
            "PRD-SND-07",
            "Batches that no common Produce version can carry fail as unsupported and are not sent again.",
            "Sender",
            "clients/reference/producer/sender.py: Sender._answers",
        ),
        should(
            "PRD-SND-08",
            "A batch that the broker found damaged is sent again as it was made.",
            "Errors, Sender",
            "clients/reference/producer/sender.py: Sender._can_retry",
            "harness/wire/error_table.py: ERRORS",
        ),
        must(
            "PRD-SND-09",
            "Too few replicas before and after the append are both retried; the latter leaves a copy, which only "
            "idempotence keeps from becoming two.",
            "Errors, ReplicaManager",
            "clients/reference/producer/sender.py: Sender._can_retry",
            "clients/reference/producer/producer_batch.py: ProducerBatch.attempt_ended",
        ),
        should(
            "PRD-SND-10",
            "An error about the leader brings new metadata, and the batches go in order to the new leader.",
            "Sender",
            "clients/reference/producer/sender.py: Sender._complete_batch",
            "clients/reference/producer/record_accumulator.py: RecordAccumulator.reenqueue",
        ),
        should(
            "PRD-SND-11",
            "Batches for a topic that is gone are retried until their delivery timeout, and other topics see nothing "
            "of it.",
            "Sender",
            "clients/reference/producer/sender.py: Sender._can_retry",
            "clients/reference/producer/sender.py: Sender._expire",
        ),
        should(
            "PRD-SND-12",
            "Where a batch is refused for some of its records, those get the broker's reason, the others one that says "
            "so.",
            "KIP-467; Sender",
            "clients/reference/producer/batch_errors.py: by_record",
        ),
        must(
            "PRD-SND-13",
            "Callbacks of a partition run once each and in the order of sending; one that raises stops no other.",
            "ProducerBatch",
            "clients/reference/producer/producer_batch.py: ProducerBatch.publish",
            "clients/reference/producer/producer.py: ProducerCore.publish",
        ),
        must(
            "PRD-SND-14",
            "With idempotence, or with one request in flight, no retry changes the order of a partition.",
            "ProducerConfig, Sender",
            "clients/reference/producer/batch_queues.py: BatchQueues.insert_in_sequence_order",
            "clients/reference/config/producer_config.py: ProducerConfig.guarantee_message_order",
        ),
        must(
            "PRD-SND-15",
            "Where topics go by id, a batch for the id of a deleted topic is refused, and is written to its successor "
            "only when metadata has named that.",
            "KIP-516; Sender",
            "clients/reference/producer/sender.py: Sender._send_produce_request",
            "clients/reference/metadata/metadata.py: Metadata.topic_id",
        ),
        must(
            "PRD-SND-16",
            "acks says what an acknowledgement stands for: nothing, the leader's log, or all replicas in sync.",
            "KIP-679; ProduceRequest",
            "clients/reference/common/requests.py: produce_request",
            "clients/reference/config/producer_config.py: ProducerConfig",
        ),
    ),
)
