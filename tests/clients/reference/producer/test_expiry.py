"""A batch expires exactly at its limit, whatever its state, and its error says what is known of its records."""

from __future__ import annotations

from clients.reference.errors import TimeoutError
from clients.reference.telemetry.trace import BatchExpired
from harness.model.verdicts import Outcome
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME
from testkit.codes import has_error


def test_queued_batch_expires_exactly_at_its_limit(world):
    """PRD-EXP-01, PRD-EXP-02, PRD-EXP-05: no broker is listening, and the core wakes itself."""
    w = world(delivery_timeout_ms=3_000, request_timeout_ms=1_000)
    w.settle(w.send())
    w.refuse()
    w.run(1)
    start_ms = w.now_ms
    deliveries = [w.send() for _ in range(3)]
    w.settle(*deliveries)
    assert w.now_ms == start_ms + 3_000
    error = deliveries[0].error
    assert isinstance(error, TimeoutError)
    assert has_error(error, "batch-expired", "3", "t-0") and has_error(error, "batch-expired", "3000")
    assert error.outcome is Outcome.FAIL  # never passed to a socket
    assert len(w.brokers.requests()) == 1


def test_batch_in_flight_expires_and_is_not_retried(world):
    """PRD-EXP-03: a late success is ignored, and the record may be stored."""
    w = world(delivery_timeout_ms=3_000, request_timeout_ms=2_900, enable_idempotence=False, linger_ms=0)
    w.settle(w.send())
    w.slow(2_000)
    w.brokers.fates(BY_NAME["NOT_ENOUGH_REPLICAS"].code)
    start_ms = w.now_ms
    delivery = w.send()
    w.settle(delivery)
    assert w.now_ms == start_ms + 3_000
    assert delivery.error.outcome is Outcome.INFO
    assert [event.was_in_flight for event in w.told(BatchExpired)] == [True]
    assert w.accumulator.pool.available_bytes < w.config.buffer_memory  # PRD-ACC-11: still on the wire
    w.run(10_000)
    assert len(w.brokers.requests()) == 3
    assert len(w.brokers.values()) == 2
    assert delivery.error.outcome is Outcome.INFO
    assert w.accumulator.pool.available_bytes == w.config.buffer_memory


def test_batch_with_only_rejected_attempts_expires_as_not_stored(world):
    w = world(delivery_timeout_ms=3_000, request_timeout_ms=1_000, enable_idempotence=False)
    w.brokers.fates(then=BY_NAME["NOT_ENOUGH_REPLICAS"].code)
    delivery = w.send()
    w.settle(delivery)
    assert isinstance(delivery.error, TimeoutError)
    assert delivery.error.outcome is Outcome.FAIL


def test_batch_without_a_leader_expires(world):
    """PRD-ACC-07."""
    w = world(nodes=2, delivery_timeout_ms=3_000, request_timeout_ms=1_000)
    w.settle(w.send(partition=1))
    w.cluster.kill(2, 0)
    w.drop(2)
    w.run(100)
    before = len(w.brokers.requests(Api.METADATA))
    start_ms = w.now_ms
    lost = w.send(partition=1)
    w.run(1_500)
    asked = len(w.brokers.requests(Api.METADATA)) - before
    assert 1 <= asked <= 15
    w.settle(lost)
    assert w.now_ms == start_ms + 3_000
    w.cluster.restart(2, 0)
    found = w.send(partition=1)
    w.settle(found)
    assert found.error is None
