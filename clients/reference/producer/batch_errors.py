"""The errors that the application receives for failed batches: one sentence, and what is known of the records."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.errors import BrokerError, ProducerClosedError, SendError, TimeoutError
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
    return BrokerError(error, f"{_records(batch)} failed with {error.name}{detail}", outcome=outcome)


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
        errors[index] = BrokerError(blamed, f"record {index} failed: {what}", outcome=failure.outcome)
    return errors


def expired(batch: ProducerBatch, now_ms: int) -> TimeoutError:
    """Return the error of an expired batch: how many records, where, and how long they had (PRD-EXP-02)."""
    return TimeoutError(
        f"{_records(batch)} expired: {now_ms - batch.created_ms} ms have passed since their batch was created, "
        f"delivery.timeout.ms is {batch.expires_ms - batch.created_ms}",
        outcome=_outcome(batch),
    )


def cannot_go_on(error: KafkaError, batch: ProducerBatch | None = None) -> BrokerError:
    """Return the error of a producer that failed. ``batch`` is a batch that failed with it."""
    outcome = _outcome(batch) if batch else Outcome.FAIL
    return BrokerError(error, f"the producer failed: {error.name}", outcome=outcome)


def without_identity(error: KafkaError, batch: ProducerBatch) -> BrokerError:
    """Return the error of a batch that waited for a producer id that the broker refused (KAFKA-13668)."""
    return BrokerError(error, f"no producer id for {_records(batch)}: {error.name}", outcome=_outcome(batch))


def closed(batch: ProducerBatch) -> ProducerClosedError:
    """Return the error of a batch that close() ended (PRD-CLS-04)."""
    return ProducerClosedError(
        f"the producer was closed before {_records(batch)} had a result", outcome=_outcome(batch)
    )


def _outcome(batch: ProducerBatch) -> Outcome:
    return Outcome.INFO if batch.is_in_doubt else Outcome.FAIL


def _records(batch: ProducerBatch) -> str:
    topic, partition = batch.partition
    return f"{batch.record_count} record(s) for {topic}-{partition}"
