"""The trace of a batch: every decision once, with the data for the producer's metrics."""

from __future__ import annotations

from itertools import pairwise

import pytest

from clients.reference.errors import SendError
from clients.reference.telemetry.trace import (
    BatchClosed,
    BatchCreated,
    BatchEnded,
    BatchExpired,
    BatchRetried,
    BatchSent,
    BatchSplit,
    SendBlocked,
    SendUnblocked,
)
from harness.wire.error_table import BY_NAME


def ready(world, **settings):
    w = world(**settings)
    w.settle(w.send())
    w.trace.clear()
    return w


def test_trace_from_creation_to_completion(world):
    w = ready(world, linger_ms=30)
    start_ms = w.now_ms
    w.brokers.fates(BY_NAME["NOT_ENOUGH_REPLICAS"].code)
    w.settle(*[w.send(value=b"x" * 50) for _ in range(3)])
    kinds = (BatchCreated, BatchClosed, BatchSent, BatchRetried, BatchSent, BatchEnded)
    told = [event for event in w.trace if type(event) in kinds]
    assert tuple(map(type, told)) == kinds
    created, closed, sent, retried, again, ended = told
    assert len({event.batch for event in told}) == 1
    assert (created.topic, created.partition, created.memory_bytes) == ("t", 0, 16_384)
    assert (closed.reason, closed.record_count) == ("linger", 3)
    assert (sent.attempt, again.attempt, sent.queue_time_ms) == (1, 2, 30)
    assert sent.size_bytes == sent.uncompressed_bytes == closed.uncompressed_bytes == again.size_bytes
    assert (retried.error, retried.record_count, retried.attempts) == ("NOT_ENOUGH_REPLICAS", 3, 1)
    assert (ended.error, ended.record_count, created.at_ms) == ("", 3, start_ms)
    assert all(a.at_ms <= b.at_ms for a, b in pairwise(w.trace))


@pytest.mark.parametrize("reason", ["full", "linger", "flush", "closing", "queued", "memory", "along"])
def test_every_reason_to_close_a_batch_is_traced(world, reason):
    """PRD-ACC-02."""
    settings = {"linger_ms": 1_000, "batch_size": 400, "delivery_timeout_ms": 60_000}
    if reason == "memory":
        settings["buffer_memory"] = 400
    w = ready(world, **settings)
    w.run(20)
    w.send(value=b"x" * 100)
    if reason == "flush":
        w.core.begin_flush()
    elif reason == "closing":
        w.core.close(w.now_ms)
    elif reason == "full":
        w.send(value=b"x" * 300)
    elif reason == "memory":
        w.send(partition=1, value=b"x" * 100)
    elif reason == "along":
        w.send(partition=1, value=b"x" * 500)
    elif reason == "queued":
        batch = w.accumulator.open["t", 0]
        # The public methods close an open batch before they queue it, so the accumulator never does this itself.
        w.accumulator._queue(("t", 0)).append(batch)
        w.accumulator._seal(batch, w.now_ms)
        assert w.told(BatchClosed)[0].reason == "queued"
        return
    w.run(2 if reason != "linger" else 1_000)
    assert reason in {event.reason for event in w.told(BatchClosed)}


def test_completion_is_traced_once_without_the_late_response(world):
    """PRD-FIN-01, PRD-FIN-02, PRD-EXP-03."""
    w = ready(
        world, linger_ms=0, delivery_timeout_ms=2_000, request_timeout_ms=1_900, enable_idempotence=False
    )
    w.slow(1_500)
    w.brokers.fates(BY_NAME["NOT_ENOUGH_REPLICAS"].code)
    w.settle(w.send())
    w.run(10_000)
    assert [(event.error, event.record_count) for event in w.told(BatchEnded)] == [("REQUEST_TIMED_OUT", 1)]
    assert [event.was_in_flight for event in w.told(BatchExpired)] == [True]


def test_split_and_its_parts_add_up(world):
    """PRD-SPL-01."""
    w = ready(world, linger_ms=20)
    w.brokers.fates(BY_NAME["MESSAGE_TOO_LARGE"].code)
    w.settle(*[w.send() for _ in range(5)])
    (split,) = w.told(BatchSplit)
    assert (split.record_count, split.parts) == (
        5,
        len([e for e in w.told(BatchClosed) if e.reason == "part"]),
    )
    assert sum(event.record_count for event in w.told(BatchEnded)) == 5
    assert split.batch not in {event.batch for event in w.told(BatchEnded)}


def test_waits_for_metadata_and_memory_are_traced(world):
    """MET-11, PRD-ACC-09: both waits have their duration."""
    w = world(linger_ms=0, buffer_memory=200, batch_size=0, max_block_ms=5_000)
    w.slow(100)
    first, second = w.send(value=b"x" * 100), w.send(value=b"x" * 100)
    w.settle(first, second)
    assert [event.waiting_for for event in w.told(SendBlocked)] == ["metadata", "metadata", "memory"]
    waits = [(event.waited_for, event.waited_ms) for event in w.told(SendUnblocked)]
    assert [what for what, _ in waits] == ["metadata", "metadata", "memory"]
    assert all(100 <= waited_ms <= 1_000 for _, waited_ms in waits)
    w.trace.clear()
    lost = w.send(topic="nope")
    w.settle(lost)
    assert [(e.waited_for, e.waited_ms) for e in w.told(SendUnblocked)] == [("metadata", 5_000)]


def test_fatal_metadata_error_ends_waiting_sends(world):
    """MET-16: sends that wait for metadata fail with that error. Sends that wait for memory continue to wait."""
    w = world(max_block_ms=60_000, linger_ms=0, buffer_memory=200, batch_size=0)
    w.settle(w.send())
    w.slow(1_000)
    w.send(value=b"x" * 100)
    for_memory, for_metadata = w.send(value=b"x" * 100), w.send(topic="nope")
    error = SendError("made-up", "credentials refused")
    w.metadata.fail(error)
    w.rounds()
    assert for_metadata.error is error
    assert for_memory.is_blocked
    w.settle(for_memory)
    assert for_memory.error is None
