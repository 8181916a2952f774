"""PRD-SND: what happens to a batch after it was sent: answers, errors, retries."""

from __future__ import annotations

from suites.requirements.behaviour import Group, must, should

SENDER = Group(
    "PRD-SND",
    "Answers, errors and retries",
    (
        must(
            "PRD-SND-01",
            "A written record is reported with its own offset, counted from its batch's offset, and its timestamp.",
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
            "Every partition of an answer is handled independently: one that failed changes nothing for the others.",
            "Sender",
            "clients/reference/producer/sender.py: Sender._handle_produce_response",
        ),
        should(
            "PRD-SND-05",
            "A batch that the answer leaves out waits for its delivery timeout. An answer for a partition that was "
            "not in the request is an internal error.",
            "Sender",
            "clients/reference/producer/sender.py: Sender._handle_produce_response",
            "clients/reference/producer/sender.py: Sender._answers",
        ),
        must(
            "PRD-SND-06",
            "Batches in flight on a lost connection are sent again, although the broker may have written them.",
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
            "A batch that the broker found corrupt is sent again unchanged.",
            "Errors, Sender",
            "clients/reference/producer/sender.py: Sender._can_retry",
            "harness/wire/error_table.py: ERRORS",
        ),
        must(
            "PRD-SND-09",
            "Too few replicas before and after the append are both retried. The latter leaves a copy, and only "
            "idempotence prevents a second one.",
            "Errors, ReplicaManager",
            "clients/reference/producer/sender.py: Sender._can_retry",
            "clients/reference/producer/producer_batch.py: ProducerBatch.attempt_ended",
        ),
        should(
            "PRD-SND-10",
            "An error about the leader triggers a metadata refresh, and the batches are sent in order to the new "
            "leader.",
            "Sender",
            "clients/reference/producer/sender.py: Sender._complete_batch",
            "clients/reference/producer/record_accumulator.py: RecordAccumulator.reenqueue",
        ),
        should(
            "PRD-SND-11",
            "Batches for a deleted topic are retried until their delivery timeout, and other topics are not affected.",
            "Sender",
            "clients/reference/producer/sender.py: Sender._can_retry",
            "clients/reference/producer/sender.py: Sender._expire",
        ),
        should(
            "PRD-SND-12",
            "If a batch is refused because of some of its records, those get the broker's reason, and the others one "
            "that says so.",
            "KIP-467; Sender",
            "clients/reference/producer/batch_errors.py: by_record",
        ),
        must(
            "PRD-SND-13",
            "Callbacks of a partition run once each and in the order of sending. One that raises does not stop the "
            "others.",
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
            "If topics are addressed by id, a batch for the id of a deleted topic is refused, and is written to its "
            "successor only after metadata has named the successor.",
            "KIP-516; Sender",
            "clients/reference/producer/sender.py: Sender._send_produce_request",
            "clients/reference/metadata/metadata.py: Metadata.topic_id",
        ),
        must(
            "PRD-SND-16",
            "acks determines what an acknowledgement means: nothing, the leader's log, or all in-sync replicas.",
            "KIP-679; ProduceRequest",
            "clients/reference/common/requests.py: produce_request",
            "clients/reference/config/producer_config.py: ProducerConfig",
        ),
    ),
)
