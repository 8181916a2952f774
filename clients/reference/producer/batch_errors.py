"""The errors that the application receives for failed batches and records, and what is known of the records."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.errors import (
    BrokerError,
    ProducerClosedError,
    RecordTooLargeError,
    SendError,
    TimeoutError,
    TransactionAbortedError,
)
from clients.reference.producer.producer_batch import ProducerBatch
from harness.model.verdicts import Outcome
from harness.wire.error_table import KafkaError, error_for

_WHAT_IT_MEANS = {
    "TOPIC_AUTHORIZATION_FAILED": "the producer may not write to the topic",
    "CLUSTER_AUTHORIZATION_FAILED": "the producer may not be idempotent",
}


def refused(batch: ProducerBatch, error: KafkaError, answer: PartitionResponse) -> BrokerError:
    """Return the error of the last attempt, from the broker or the connection, if no retry follows (PRD-SND-03)."""
    said = answer.error_message or _WHAT_IT_MEANS.get(error.name)
    detail = f": {said}" if said else ""
    outcome = batch.outcome_of(error)
    return BrokerError(
        error,
        "batch-refused",
        "{records} failed with {error}{detail}",
        outcome=outcome,
        records=_records(batch),
        error=error.name,
        detail=detail,
    )


def by_record(
    batch: ProducerBatch, failure: BrokerError, answer: PartitionResponse
) -> dict[int, SendError] | None:
    """Return each record's error if the broker named invalid records.

    The others failed because of them (PRD-SND-12).
    """
    if not answer.record_errors:
        return None
    named = dict(answer.record_errors)
    blamed = error_for(answer.error_code)
    errors: dict[int, SendError] = {}
    for index in range(batch.record_count):
        what = (named[index] or blamed.name) if index in named else "other records of its batch were invalid"
        errors[index] = BrokerError(
            blamed,
            "record-refused",
            "record {index} failed: {what}",
            outcome=failure.outcome,
            index=index,
            what=what,
        )
    return errors


def expired(batch: ProducerBatch, now_ms: int) -> TimeoutError:
    """Return the error of an expired batch: how many records, where, and how long they had (PRD-EXP-02)."""
    return TimeoutError(
        "batch-expired",
        "{records} expired: {age_ms} ms have passed since their batch was created, "
        "delivery.timeout.ms is {timeout_ms}",
        outcome=_outcome(batch),
        records=_records(batch),
        age_ms=now_ms - batch.created_ms,
        timeout_ms=batch.expires_ms - batch.created_ms,
    )


def cannot_go_on(error: KafkaError, batch: ProducerBatch | None = None) -> BrokerError:
    """Return the error of a producer that failed. ``batch`` is a batch that failed with it."""
    outcome = _outcome(batch) if batch else Outcome.FAIL
    return BrokerError(
        error, "producer-failed", "the producer failed: {error}", outcome=outcome, error=error.name
    )


def topic_refused(error: KafkaError, topic: str) -> BrokerError:
    """Return the error of a topic that the broker's metadata refuses for good (MET-13)."""
    return BrokerError(
        error,
        "topic-refused",
        "topic {topic!r}: {error}",
        outcome=Outcome.FAIL,
        topic=topic,
        error=error.name,
    )


def too_large(whole_bytes: int, setting: str, limit: int) -> RecordTooLargeError:
    """Return the error of a record that alone exceeds a limit (PRD-ACC-10)."""
    return RecordTooLargeError(
        "record-too-large",
        "the record takes {whole_bytes} bytes, {setting} is {limit}",
        whole_bytes=whole_bytes,
        setting=setting,
        limit=limit,
    )


def without_identity(error: KafkaError, batch: ProducerBatch) -> BrokerError:
    """Return the error of a batch that waited for a producer id that the broker refused (KAFKA-13668)."""
    return BrokerError(
        error,
        "no-producer-id",
        "no producer id for {records}: {error}",
        outcome=_outcome(batch),
        records=_records(batch),
        error=error.name,
    )


def transaction_aborted(batch: ProducerBatch | None = None) -> TransactionAbortedError:
    """Return the error of records that were not sent when their transaction failed or was aborted (PRD-TXN-18).

    None is a record that waited for metadata or memory.
    """
    return TransactionAbortedError(
        "records-aborted",
        "{records} not sent: the transaction was aborted, or must be",
        records=f"{_records(batch)} were" if batch else "the record was",
    )


def closed(batch: ProducerBatch) -> ProducerClosedError:
    """Return the error of a batch that close() ended (PRD-CLS-04)."""
    return ProducerClosedError(
        "producer-closed",
        "the producer was closed before {records} had a result",
        outcome=_outcome(batch),
        records=_records(batch),
    )


def _outcome(batch: ProducerBatch) -> Outcome:
    return Outcome.INFO if batch.is_in_doubt else Outcome.FAIL


def _records(batch: ProducerBatch) -> str:
    topic, partition = batch.partition
    return f"{batch.record_count} record(s) for {topic}-{partition}"
