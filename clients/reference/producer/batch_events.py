"""The trace events of the Sender's batches, with their numbers."""

from __future__ import annotations

from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.telemetry.trace import BatchExpired, BatchRetried, BatchSent
from harness.wire.error_table import KafkaError


def sent(batch: ProducerBatch, node_id: int, now_ms: int) -> BatchSent:
    """Return the event of an attempt that was passed to the network."""
    return BatchSent(
        at_ms=now_ms,
        batch=batch.name,
        node=node_id,
        attempt=batch.attempts + 1,
        producer_id=batch.producer_id.id,
        producer_epoch=batch.producer_id.epoch,
        base_sequence=batch.base_sequence,
        record_count=batch.record_count,
        size_bytes=batch.size_bytes,
        uncompressed_bytes=batch.uncompressed_bytes,
        queue_time_ms=batch.drained_ms - batch.created_ms,
    )


def retried(batch: ProducerBatch, error: KafkaError, now_ms: int) -> BatchRetried:
    """Return the event of an attempt that failed, after which another one may follow."""
    return BatchRetried(
        at_ms=now_ms,
        batch=batch.name,
        error=error.name,
        attempts=batch.attempts,
        retry_at_ms=batch.retry_at_ms,
        record_count=batch.record_count,
    )


def expired(batch: ProducerBatch, now_ms: int, *, was_in_flight: bool) -> BatchExpired:
    """Return the event of a batch that reached delivery.timeout.ms."""
    return BatchExpired(
        at_ms=now_ms, batch=batch.name, age_ms=now_ms - batch.created_ms, was_in_flight=was_in_flight
    )
