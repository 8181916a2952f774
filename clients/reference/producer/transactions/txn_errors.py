"""The errors that calls of transactions end with, and what they say about the next call."""

from __future__ import annotations

from clients.reference.errors import (
    FatalTransactionError,
    ProducerFencedError,
    SendError,
    TransactionError,
)
from clients.reference.producer.producer_batch import ProducerBatch, ProducerId
from harness.wire.apis import Api, api_name
from harness.wire.error_table import BY_NAME, KafkaError

_UNKNOWN = BY_NAME["UNKNOWN_SERVER_ERROR"]


def abortable(error: KafkaError, api: Api) -> TransactionError:
    """Return the error of a request after which the transaction must be aborted (PRD-TXN-09)."""
    return TransactionError(
        error,
        "transaction-must-be-aborted",
        "{api} was answered with {error}: the transaction must be aborted",
        api=api_name(api),
        error=error.name,
    )


def batch_failed(batch: ProducerBatch, error: KafkaError) -> TransactionError:
    """Return the error of a transaction with a record that was not stored, or may not be (PRD-TXN-07)."""
    topic, partition = batch.partition
    return TransactionError(
        error,
        "transaction-lost-records",
        "{count:record} for {topic}-{partition} failed with {error}: the transaction must be aborted",
        count=batch.record_count,
        topic=topic,
        partition=partition,
        error=error.name,
    )


def record_failed(failure: SendError) -> TransactionError:
    """Return the error of a transaction with a record that failed before it was in a batch (PRD-TXN-07)."""
    return TransactionError(
        BY_NAME.get(failure.name, _UNKNOWN),
        "transaction-lost-a-record",
        "a record failed: {failure}. The transaction must be aborted",
        failure=failure,
    )


def aborted(transactional_id: str) -> TransactionError:
    """Return the error of a request that the application's abort made needless."""
    return TransactionError(
        BY_NAME["TRANSACTION_ABORTABLE"],
        "transaction-aborted",
        "the transaction of {transactional_id!r} was aborted",
        transactional_id=transactional_id,
    )


def fatal(error: KafkaError, api: Api | None = None, detail: str = "") -> FatalTransactionError:
    """Return the error after which only close() is left (PRD-TXN-09, -19)."""
    return FatalTransactionError(
        error,
        "transactions-failed",
        "the producer can only be closed: {what}{error}{detail}",
        what="" if api is None else f"{api_name(api)} was answered with ",
        error=error.name,
        detail=f" ({detail})" if detail else "",
    )


def fenced(transactional_id: str, producer_id: ProducerId) -> ProducerFencedError:
    """Return the error of a producer whose epoch is no longer the newest (PRD-TXN-01, -08)."""
    return ProducerFencedError(
        BY_NAME["PRODUCER_FENCED"],
        "producer-fenced",
        "another producer with transactional.id {transactional_id!r} has taken over from id {id}, epoch {epoch}",
        transactional_id=transactional_id,
        id=producer_id.id,
        epoch=producer_id.epoch,
    )


def closed() -> FatalTransactionError:
    """Return the error of calls that close() ended (PRD-CLS-04)."""
    return FatalTransactionError(
        BY_NAME["NETWORK_EXCEPTION"],
        "producer-closed",
        "the producer was closed before the call had a result",
    )
