"""Short traces of connections: correct ones pass, and others report the broken rule."""

from __future__ import annotations

import pytest

from clients.reference.telemetry.trace import (
    ConnectAttempt,
    ConnectionEnded,
    RequestLost,
    RequestSent,
    ResponseReceived,
    StateChanged,
)
from suites.checks.trace.in_flight import InFlight


def moved(machine, subject, before, cause, after, at_ms=0):
    return StateChanged(
        at_ms=at_ms, machine=machine, subject=subject, before=before, cause=cause, after=after
    )


def rules(breaches):
    return [breach.requirement for breach in breaches]


def queues(**limits):
    given = {"limit": 5, "answers_produce": True, "backoff_ms": 100, "backoff_max_ms": 1_000} | limits
    return InFlight(given.pop("limit"), **given)


def attempt(at_ms=0, host="b", port=9092):
    return [
        moved("connection", "1", "DISCONNECTED", "connect", "CONNECTING", at_ms),
        ConnectAttempt(at_ms=at_ms, node=1, host=host, address=f"{host}:{port}", setup_timeout_ms=1),
    ]


def asks(api, number, at_ms=0, version=9):
    return [RequestSent(at_ms=at_ms, node=1, api=api, version=version, correlation_id=number, size_bytes=1)]


def answers(api, number, at_ms=0, throttle_ms=0):
    return [
        ResponseReceived(
            at_ms=at_ms, node=1, api=api, correlation_id=number, latency_ms=0, throttle_ms=throttle_ms
        )
    ]


def loses(number, timed_out=False, api="Produce"):
    return [RequestLost(at_ms=0, node=1, api=api, correlation_id=number, timed_out=timed_out)]


def ends(state="READY", end="READY", at_ms=0):
    return [
        ConnectionEnded(at_ms=at_ms, node=1, state=end, detail=""),
        moved("connection", "1", state, "disconnect", "DISCONNECTED", at_ms),
    ]


UP = [
    *attempt(),
    moved("connection", "1", "CONNECTING", "connected", "CHECKING_API_VERSIONS"),
    *asks("ApiVersions", 0, version=4),
    *answers("ApiVersions", 0),
    moved("connection", "1", "CHECKING_API_VERSIONS", "api-versions", "READY"),
]


@pytest.mark.parametrize(
    ("rule", "limits", "events"),
    [
        (
            None,
            {},
            [*UP, *asks("Produce", 1), *asks("Produce", 2), *answers("Produce", 1), *answers("Produce", 2)],
        ),
        (
            None,
            {},
            [*UP, *asks("Produce", 1), *asks("Metadata", 2), *ends(), *loses(1), *loses(2), *attempt(80)],
        ),
        ("NET-CON-01", {}, [*UP[:3], *asks("Metadata", 0)]),
        ("NET-CON-01", {}, [*attempt(), *asks("ApiVersions", 0)]),
        ("NET-INF-01", {}, [*UP, *asks("Produce", 1), *asks("Produce", 2), *answers("Produce", 2)]),
        ("NET-INF-01", {}, [*UP, *asks("Produce", 1), *answers("Metadata", 1)]),
        ("NET-INF-01", {}, [*UP, *answers("Produce", 1)]),
        ("NET-INF-02", {}, [*UP, *asks("Produce", 2)]),
        ("NET-INF-02", {}, [*UP, *asks("Produce", 0)]),
        ("NET-INF-03", {"limit": 1}, [*UP, *asks("Produce", 1), *asks("Produce", 2)]),
        (None, {"limit": 1, "answers_produce": False}, [*UP, *asks("Produce", 1), *asks("Produce", 2)]),
        ("NET-INF-06", {}, [*UP, *asks("Produce", 1), *ends(), *attempt(80)]),
        ("NET-INF-06", {}, [*UP, *asks("Produce", 1), *ends()]),
        ("NET-INF-06", {}, [*UP, *asks("Produce", 1), *loses(1)]),
        ("NET-INF-06", {}, [*UP, *asks("Produce", 1), *ends(), *loses(1), *loses(1)]),
        ("NET-TMO-02", {}, [*UP, *asks("Produce", 1), *ends(end="REQUEST_TIMEOUT"), *loses(1)]),
        ("NET-TMO-02", {}, [*UP, *asks("Produce", 1), *ends(), *loses(1, timed_out=True)]),
        (None, {}, [*UP, *asks("Produce", 1), *ends(end="REQUEST_TIMEOUT"), *loses(1, timed_out=True)]),
        (
            "NET-CON-12",
            {},
            [*UP, *asks("Metadata", 1), *answers("Metadata", 1, 0, 50), *asks("Produce", 2, 49)],
        ),
        (None, {}, [*UP, *asks("Metadata", 1), *answers("Metadata", 1, 0, 50), *asks("Produce", 2, 50)]),
        (
            None,
            {},
            [*UP, *asks("Metadata", 1, version=5), *answers("Metadata", 1, 0, 50), *asks("Produce", 2, 1)],
        ),
        ("NET-CON-05", {}, [*UP, *ends(at_ms=1), *attempt(80)]),
        (None, {}, [*UP, *ends(at_ms=1), *attempt(81)]),
        (None, {}, [*UP, *ends(at_ms=1), *attempt(2, host="c")]),
        (None, {}, [*UP, *ends(at_ms=1), *attempt(2, port=9093)]),
        ("NET-CON-05", {}, [*UP, *ends(), *attempt(80), *ends("CONNECTING", at_ms=90), *attempt(249)]),
    ],
)
def test_in_flight_rules(rule, limits, events):
    assert rules(queues(**limits).watch(events)) == ([] if rule is None else [rule])


def test_requests_lost_newest_first_are_out_of_order():
    events = [*UP, *asks("Produce", 1), *asks("Produce", 2), *ends(), *loses(2), *loses(1)]
    assert set(rules(queues().watch(events))) == {"NET-INF-06"}
