"""What happens to a batch after a failed attempt: a later retry in order, with the same bytes, or the end."""

from __future__ import annotations

from itertools import pairwise

import pytest

from clients.reference.errors import BrokerError
from clients.reference.telemetry.trace import BatchRetried
from harness.model.verdicts import Outcome
from harness.wire.apis import Api
from harness.wire.error_table import BY_NAME, ERRORS


def code(name):
    return BY_NAME[name].code


RETRIABLE = [error.code for error in ERRORS.values() if error.retriable]
# test_idempotence covers the errors that an idempotent producer does not handle by their retriable flag.
FINAL = [
    error.code
    for error in ERRORS.values()
    if not error.retriable and error.name not in ("NONE", "DUPLICATE_SEQUENCE_NUMBER")
]


@pytest.mark.parametrize("error", RETRIABLE)
@pytest.mark.parametrize("idempotent", [True, False])
def test_retriable_error_resends_the_same_bytes(world, error, idempotent):
    """PRD-SND-02, PRD-SND-08, PRD-SND-09: identical except for the request header."""
    w = world(enable_idempotence=idempotent)
    w.brokers.fates(error, error)
    delivery = w.send()
    w.settle(delivery)
    assert delivery.error is None
    assert len(w.brokers.requests()) == 3
    assert len({seen.produced[0] for seen in w.brokers.requests()}) == 1
    assert len({seen.correlation_id for seen in w.brokers.requests()}) == 3


@pytest.mark.parametrize("error", FINAL)
def test_any_other_error_fails_at_once(world, error):
    """PRD-SND-03: the outcome comes from the error table."""
    w = world(enable_idempotence=False)
    w.brokers.fates(error)
    delivery = w.send()
    w.settle(delivery)
    assert len(w.brokers.requests()) == 1
    assert isinstance(delivery.error, BrokerError)
    assert delivery.error.name == ERRORS[error].name
    definite = ERRORS[error].produced == "definite"
    assert delivery.error.outcome is (Outcome.FAIL if definite else Outcome.INFO)


def test_retry_backoff_grows(world):
    """PRD-ACC-04: the backoff replaces the linger."""
    w = world(linger_ms=3_000)
    w.brokers.fates(*[code("REQUEST_TIMED_OUT")] * 6)
    w.settle(w.send())
    times = [seen.at_ms for seen in w.brokers.requests()]
    assert [b - a for a, b in pairwise(times)] == [100, 200, 400, 800, 1_000, 1_000]


def test_retries_are_limited(world):
    w = world(retries=2, enable_idempotence=False)
    w.brokers.fates(then=code("NOT_ENOUGH_REPLICAS"))
    delivery = w.send()
    w.settle(delivery)
    assert len(w.brokers.requests()) == 3
    assert (delivery.error.name, delivery.error.outcome) == ("NOT_ENOUGH_REPLICAS", Outcome.FAIL)


def test_definite_failure_after_an_unknown_attempt_is_unknown(world):
    w = world(enable_idempotence=False, request_timeout_ms=500)
    w.brokers.fates("hold", code("TOPIC_AUTHORIZATION_FAILED"))
    delivery = w.send()
    w.settle(delivery)
    assert (delivery.error.name, delivery.error.outcome) == ("TOPIC_AUTHORIZATION_FAILED", Outcome.INFO)
    assert len(w.brokers.values()) == 1  # the lost attempt was stored


@pytest.mark.parametrize(
    ("disposition", "name"), [("close-after", "NETWORK_EXCEPTION"), ("hold", "REQUEST_TIMED_OUT")]
)
def test_lost_response_is_retried_and_named(world, disposition, name):
    """NET-TMO-03, PRD-SND-06: the record is stored twice without idempotence, and once with it."""
    for idempotent, copies in ((False, 2), (True, 1)):
        w = world(enable_idempotence=idempotent, request_timeout_ms=500)
        w.brokers.fates(disposition)
        delivery = w.send()
        w.settle(delivery)
        assert delivery.error is None
        assert len(w.brokers.values()) == copies
        assert [event.error for event in w.told(BatchRetried)] == [name]


@pytest.mark.parametrize("disposition", ["close-after", "close-before", "hold", 7, 19])
def test_one_request_in_flight_keeps_the_order(world, disposition):
    """PRD-ACC-08, PRD-SND-14: without idempotence, by muting the partition."""
    w = world(
        enable_idempotence=False,
        max_in_flight_requests_per_connection=1,
        batch_size=0,
        linger_ms=0,
        request_timeout_ms=500,
    )
    w.brokers.fates(None, disposition, None, disposition)
    w.settle(*[w.send() for _ in range(8)])
    values = w.brokers.values()
    assert sorted(set(values)) == list(dict.fromkeys(values))


def test_several_requests_in_flight_may_reorder_without_idempotence(world):
    """PRD-SND-14: the counterpart of the tests that forbid reordering."""
    w = world(enable_idempotence=False, batch_size=0, linger_ms=0)
    w.brokers.fates(None, code("NOT_ENOUGH_REPLICAS"))
    w.settle(w.send())
    w.settle(*[w.send() for _ in range(3)])
    assert w.brokers.values() == [b"v0", b"v2", b"v3", b"v1"]


def test_blocked_sends_get_memory_in_order(world):
    """PRD-ACC-09."""
    w = world(buffer_memory=250, batch_size=0, linger_ms=0)
    deliveries = [w.send(value=b"%d" % number + b"x" * 80) for number in range(6)]
    w.settle(*deliveries)
    assert [value[:1] for value in w.brokers.values()] == [b"%d" % number for number in range(6)]
    assert w.accumulator.pool.available_bytes == 250


def test_too_few_replicas_after_append_duplicates_without_idempotence(world):
    """PRD-SND-09: NOT_ENOUGH_REPLICAS_AFTER_APPEND is retried although the batch is in the log."""
    for idempotent, copies in ((False, 2), (True, 1)):
        w = world(enable_idempotence=idempotent)
        w.cluster.inject_error(Api.PRODUCE, code("NOT_ENOUGH_REPLICAS_AFTER_APPEND"), 1, after_append=True)
        delivery = w.send()
        w.settle(delivery)
        assert delivery.error is None
        assert len(w.brokers.values()) == copies
