"""A batch is encoded with the identity that it would get now, and is restamped only for another one."""

from __future__ import annotations

from collections import deque

import pytest

from clients.reference.producer.producer_batch import (
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    ProducerBatch,
    ProducerId,
)
from clients.reference.telemetry.producer_metrics import Gauges, ProducerMetrics
from clients.reference.telemetry.trace import BatchEnded, BatchSent, RequestSent, TraceEvent, no_trace
from harness.wire.records import BatchBuilder, read_batches

ME = ProducerId(7, 1)


def encoded(producer_id: ProducerId, base_sequence: int) -> ProducerBatch:
    batch = ProducerBatch(("t", 0), 1, BatchBuilder(), None, 1_000, 0, no_trace)
    batch.append(5, None, b"value", (), None)
    batch.encode(producer_id, base_sequence)
    return batch


def identity(batch: ProducerBatch) -> tuple[int, int, int, bool]:
    [read] = read_batches(batch.payload())
    header = read.header
    return header.producer_id, header.producer_epoch, header.base_sequence, read.crc_ok


def test_expected_identity_is_not_restamped():
    batch = encoded(ME, 3)
    foreseen = batch.payload()
    assert not batch.has_sequence
    batch.assign_sequence(ME, 3)
    assert batch.payload() is foreseen
    assert identity(batch) == (7, 1, 3, True)


@pytest.mark.parametrize(
    ("producer_id", "base_sequence"),
    [(ME, 4), (ProducerId(7, 2), 3), (ProducerId(8, 1), 3), (NO_PRODUCER_ID, NO_SEQUENCE)],
)
def test_other_identity_is_restamped(producer_id, base_sequence):
    """PRD-IDM-03."""
    batch = encoded(ME, 3)
    batch.assign_sequence(producer_id, base_sequence)
    assert identity(batch) == (producer_id.id, producer_id.epoch, base_sequence, True)
    batch.restart_sequence(ME, 3)
    assert identity(batch) == (7, 1, 3, True)


def test_folded_events_equal_single_events():
    sent = {"node": 1, "attempt": 1, "producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    events: list[TraceEvent] = [
        RequestSent(at_ms=1, node=1, api="Produce", version=9, correlation_id=4, size_bytes=80),
        BatchSent(at_ms=1, batch="t-0#1", record_count=3, size_bytes=50, queue_time_ms=2, **sent),
        BatchEnded(at_ms=4, batch="t-0#1", record_count=3, error="X"),
    ]
    one_by_one, together = ProducerMetrics("c"), ProducerMetrics("c")
    for event in events:
        one_by_one(event)
    together.fold(waiting := deque(events))
    assert not waiting
    gauges = Gauges(0, 0, 0, 0)
    assert repr(together.read(gauges, 9)) == repr(one_by_one.read(gauges, 9))
