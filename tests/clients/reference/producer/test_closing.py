"""Closing, and sends that wait for metadata or memory at that time."""

from __future__ import annotations

import pytest

from clients.reference.errors import IllegalStateError, ProducerClosedError
from harness.model.verdicts import Outcome


def test_send_after_close_is_refused_and_close_is_idempotent(world):
    """PRD-CLS-03, -05."""
    w = world(linger_ms=10_000)
    delivery = w.send()
    w.until(lambda: not delivery.is_blocked)
    w.core.close(w.now_ms)
    w.core.close(w.now_ms)
    with pytest.raises(IllegalStateError):
        w.send()
    w.until(lambda: w.core.is_closed, limit_ms=1_000)
    assert delivery.metadata.offset == 0
    assert w.core.run_once(w.now_ms) is None
    w.run(1)
    assert not w.proxy().connections


def test_close_timeout_fails_records_with_what_is_known(world):
    """PRD-CLS-04."""
    w = world(linger_ms=0, batch_size=0, max_in_flight_requests_per_connection=1)
    w.brokers.fates(then="hold")
    told = []
    sent = w.send(callback=lambda *result: told.append(result))
    w.until(lambda: len(w.brokers.requests()) == 1)
    queued = w.send(callback=lambda *result: told.append(result))
    start_ms = w.now_ms
    w.core.close(start_ms, 700)
    w.until(lambda: w.core.is_closed)
    assert w.now_ms == start_ms + 700
    assert isinstance(sent.error, ProducerClosedError)
    assert (sent.error.outcome, queued.error.outcome) == (Outcome.INFO, Outcome.FAIL)
    assert len(told) == 2
    w.run(1)
    assert w.closed[-1][1] == 1


def test_close_fails_blocked_sends_at_once(world):
    """PRD-CLS-07, MET-16."""
    w = world()
    waiting = w.send(topic="nope")
    w.run(500)
    w.core.close(w.now_ms)
    w.rounds()
    assert isinstance(waiting.error, ProducerClosedError)
    assert waiting.error.outcome is Outcome.FAIL
