"""The check of deadlines, to the millisecond: what is too early, what is too late, and who is to blame."""

from __future__ import annotations

import dataclasses
from contextlib import nullcontext

import pytest
from msgspec.structs import replace

from clients.reference.telemetry.trace import (
    BatchClosed,
    BatchCreated,
    BatchEnded,
    BatchExpired,
    BatchRetried,
    BatchSent,
    BatchSplit,
    ConnectAttempt,
    ConnectionEnded,
    LeadershipUpdated,
    MetadataFailed,
    MetadataUpdated,
    ReconnectBackoff,
    RequestSent,
    ResponseReceived,
    SendBlocked,
    SendUnblocked,
    StateChanged,
)
from harness.model.spec import ClientRef
from harness.plugins.check import Inconclusive
from harness.simulated.generated import spec_of
from harness.simulated.trial import SimulatedTrial
from suites.checks.trace import deadlines
from suites.checks.trace.clocks import Limits, growing_ms
from suites.checks.trace.deadlines import CHECK, Deadlines
from suites.scenarios.generated import ANY_SCENARIO, NETWORK_SCENARIO
from testkit.codes import raises_code

LIMITS = Limits(
    request_ms=1_000,
    setup_ms=100,
    setup_max_ms=1_000,
    delivery_ms=5_000,
    linger_ms=50,
    max_block_ms=2_000,
    metadata_max_age_ms=3_000,
    connections_max_idle_ms=4_000,
    close_ms=500,
    slack_ms=2,
)
B = "t-0#1"


def moved(at_ms, cause, before, after, machine="connection", subject="1"):
    return StateChanged(
        at_ms=at_ms, machine=machine, subject=subject, before=before, cause=cause, after=after
    )


def life(at_ms, cause, after, before="OPEN"):
    return moved(at_ms, cause, before, after, "life", "")


def connects(at_ms, setup_timeout_ms=100):
    return [
        moved(at_ms, "connect", "DISCONNECTED", "CONNECTING"),
        ConnectAttempt(at_ms=at_ms, node=1, host="b", address="b:1", setup_timeout_ms=setup_timeout_ms),
    ]


def ready(at_ms=0):
    return [
        *connects(at_ms),
        moved(at_ms, "connected", "CONNECTING", "CHECKING_API_VERSIONS"),
        moved(at_ms, "api-versions", "CHECKING_API_VERSIONS", "READY"),
    ]


def ends(at_ms, state, before="READY", delay_ms=50):
    return [
        ConnectionEnded(at_ms=at_ms, node=1, state=state, detail=""),
        moved(at_ms, "disconnect", before, "DISCONNECTED"),
        ReconnectBackoff(at_ms=at_ms, node=1, failures=1, delay_ms=delay_ms),
    ]


def asks(at_ms, number=1, api="Produce"):
    return RequestSent(at_ms=at_ms, node=1, api=api, version=9, correlation_id=number, size_bytes=1)


def answers(at_ms, number=1, api="Produce", throttle_ms=0):
    return ResponseReceived(
        at_ms=at_ms, node=1, api=api, correlation_id=number, latency_ms=0, throttle_ms=throttle_ms
    )


def created(at_ms=0, batch=B):
    return BatchCreated(at_ms=at_ms, batch=batch, topic="t", partition=0, memory_bytes=1)


def closed(at_ms, reason, batch=B):
    return BatchClosed(at_ms=at_ms, batch=batch, reason=reason, record_count=1, uncompressed_bytes=1)


def goes(at_ms, attempt=1, batch=B):
    return BatchSent(
        at_ms=at_ms,
        batch=batch,
        node=1,
        attempt=attempt,
        producer_id=1,
        producer_epoch=0,
        base_sequence=0,
        record_count=1,
    )


def went_along():
    """A batch is sent together with another one, which is not due yet."""
    return [created(), created(-60, "t-1#2"), closed(5, "along"), goes(5), goes(5, batch="t-1#2")]


def retried(at_ms, delay_ms, attempts=1):
    return BatchRetried(at_ms=at_ms, batch=B, error="E", attempts=attempts, retry_at_ms=at_ms + delay_ms)


def updated(at_ms, *, changed=True):
    return MetadataUpdated(at_ms=at_ms, version=1, topics=1, leaders_changed=changed)


def refreshed(at_ms=10, *, changed=True):
    return [
        *ready(),
        asks(0, 1, "Metadata"),
        answers(at_ms, 1, "Metadata"),
        updated(at_ms, changed=changed),
    ]


def blocked(at_ms, what="metadata", send=1):
    return SendBlocked(at_ms=at_ms, topic="t", waiting_for=what, send=send)


def unblocked(at_ms, what="metadata", error="", send=1):
    return SendUnblocked(at_ms=at_ms, topic="t", waited_for=what, waited_ms=0, send=send, error=error)


TIMED_OUT = "REQUEST_TIMED_OUT"
THROTTLED = [*ready(), asks(0), asks(0, 2), answers(5, throttle_ms=300)]

#: Each row: the behaviour, a correct trace, and the same one with an event one step too early or too late.
PAIRS = {
    "request early": ("NET-TMO-01", [*ready(), asks(0), *ends(1_001, "REQUEST_TIMEOUT")], 1_000),
    "request late": ("NET-TMO-01", [*ready(), asks(0), answers(1_003)], 1_004),
    "request overdue": ("NET-TMO-01", [*ready(), asks(0), created(1_003)], 1_004),
    "throttled request early": ("NET-TMO-04", [*THROTTLED, *ends(1_301, "REQUEST_TIMEOUT")], 1_300),
    "throttled request late": ("NET-TMO-01", [*THROTTLED, *ends(1_303, "READY")], 1_304),
    "throttled node": ("NET-CON-12", [*THROTTLED, answers(6, 2), asks(305, 3)], 304),
    "set-up early": ("NET-CON-08", [*connects(0), *ends(101, "SETUP_TIMEOUT", "CONNECTING")], 100),
    "set-up late": ("NET-CON-08", [*connects(0), *ends(103, "SETUP_TIMEOUT", "CONNECTING")], 104),
    "connected late": (
        "NET-CON-08",
        [*connects(0), moved(103, "connected", "CONNECTING", "CHECKING_API_VERSIONS")],
        104,
    ),
    "again after READY": ("NET-CON-07", [*ready(), *ends(10, "READY"), *connects(60)], 59),
    "idle early": ("NET-CON-14", [*ready(), asks(0), answers(5), *ends(4_006, "EXPIRED")], 4_005),
    "idle late": ("NET-CON-14", [*ready(), asks(0), answers(5), asks(4_008, 2)], 4_009),
    "metadata after an answer": ("MET-03", [*refreshed(), asks(90, 2, "Metadata")], 89),
    "metadata after a failure": (
        "MET-02",
        [*refreshed(), MetadataFailed(at_ms=500, attempts=1, reason=""), asks(580, 2, "Metadata")],
        579,
    ),
    "metadata too old": ("MET-01", [*refreshed(), asks(3_012, 2)], 3_013),
    "blocked early": ("MET-11", [blocked(0), unblocked(2_000, error=TIMED_OUT)], 1_999),
    "blocked late": ("MET-11", [blocked(0), unblocked(2_002)], 2_003),
    "blocked for both": (
        "PRD-ACC-09",
        [blocked(0), unblocked(1_500), blocked(1_500, "memory"), unblocked(2_002, "memory")],
        2_003,
    ),
    "memory early": ("PRD-ACC-09", [blocked(0, "memory"), unblocked(2_000, "memory", TIMED_OUT)], 1_999),
    "released late": ("PRD-CLS-07", [blocked(0), life(10, "close", "CLOSING"), unblocked(12)], 13),
    "close early": (
        "PRD-CLS-04",
        [life(0, "close", "CLOSING"), life(500, "force", "CLOSED", "CLOSING")],
        499,
    ),
    "close late": (
        "PRD-CLS-04",
        [life(0, "close", "CLOSING"), life(502, "drained", "CLOSED", "CLOSING")],
        503,
    ),
    "linger early": ("PRD-ACC-03", [created(), closed(50, "linger")], 49),
    "retry early": (
        "PRD-ACC-04",
        [created(), closed(50, "full"), goes(50), retried(60, 100), goes(160, 2)],
        159,
    ),
    "expired early": (
        "PRD-EXP-02",
        [created(), BatchExpired(at_ms=5_000, batch=B, age_ms=0, was_in_flight=False)],
        4_999,
    ),
    "ended late": ("PRD-EXP-01", [created(), BatchEnded(at_ms=5_002, batch=B, record_count=1)], 5_003),
    "never ended": ("PRD-EXP-05", [created(), asks(5_002)], 5_003),
    "part ended late": (
        "PRD-EXP-01",
        [
            created(),
            BatchSplit(at_ms=9, batch=B, parts=2, record_count=2),
            BatchEnded(at_ms=5_002, batch=f"{B}.1", record_count=1),
            BatchEnded(at_ms=5_000, batch=f"{B}.2", record_count=1),
        ],
        None,
    ),
}


def at(events, at_ms):
    """Move the last event, or all events of its time, to another time."""
    last_ms = max(event.at_ms for event in events)
    return [replace(event, at_ms=at_ms) if event.at_ms == last_ms else event for event in events]


def rules(events, limits=LIMITS):
    return [breach.requirement for breach in Deadlines(limits).watch(events)]


@pytest.mark.parametrize("name", PAIRS)
def test_one_millisecond_makes_the_difference(name):
    rule, right, wrong_ms = PAIRS[name]
    assert rules(right) == []
    if wrong_ms is not None:
        assert rule in rules(at(right, wrong_ms))


def test_parts_are_as_old_as_the_whole():
    _, right, _ = PAIRS["part ended late"]
    late = [replace(event, at_ms=5_003) if event.at_ms == 5_000 else event for event in right]
    assert rules(late) == ["PRD-EXP-01"]


@pytest.mark.parametrize(
    ("rule", "events"),
    [
        ("NET-CON-08", connects(0, 121)),
        ("NET-CON-08", connects(0, 79)),
        ("NET-CON-07", [*ready(), *ends(10, "READY", delay_ms=61)]),
        ("NET-CON-07", [*ready(), *ends(10, "READY", delay_ms=39)]),
        ("NET-CON-05", [*connects(0), *ends(10, "NOT_CONNECTED", "CONNECTING", delay_ms=61)]),
        ("PRD-ACC-04", [created(), retried(0, 121)]),
        ("PRD-ACC-04", [created(), retried(0, 159, attempts=2)]),
        ("NET-CON-14", [*ready(), asks(0), *ends(4_500, "EXPIRED")]),
        ("PRD-ACC-02", [created(), closed(5, "memory")]),
        ("PRD-ACC-02", [created(), closed(5, "closing")]),
        ("PRD-ACC-02", [created(), closed(5, "queued")]),
        ("PRD-ACC-03", [created(), closed(5, "along"), goes(5)]),
        (  # the other one still waits for its backoff
            "PRD-ACC-03",
            [
                *went_along(),
                BatchEnded(at_ms=6, batch="t-1#2", record_count=1),
                retried(6, 100),
                created(7, "t-2#3"),
                closed(7, "along", "t-2#3"),
                goes(7, batch="t-2#3"),
            ],
        ),
    ],
)
def test_early_or_late_events_are_found(rule, events):
    assert rule in rules(events)


@pytest.mark.parametrize(
    "events",
    [
        [created(), blocked(1, "memory"), closed(5, "memory")],
        [created(), life(1, "close", "CLOSING"), closed(5, "closing")],
        [created(), created(3, "t-0#2"), closed(5, "queued")],
        went_along(),
        [  # a batch sent with another one before is now sent alone
            *went_along(),
            retried(6, 100),
            BatchEnded(at_ms=6, batch="t-1#2", record_count=1),
            LeadershipUpdated(at_ms=6, partition="t-0", leader=1, epoch=2),
            goes(6, 2),
        ],
        [  # a batch sent with another one before now takes one along, after a change of leaders
            *went_along(),
            BatchEnded(at_ms=6, batch="t-1#2", record_count=1),
            retried(6, 100),
            LeadershipUpdated(at_ms=6, partition="t-0", leader=1, epoch=2),
            created(7, "t-2#3"),
            closed(7, "along", "t-2#3"),
            goes(7, 2),
            goes(7, batch="t-2#3"),
        ],
        [
            created(),
            closed(50, "full"),
            goes(50),
            retried(60, 100),
            LeadershipUpdated(at_ms=61, partition="t-0", leader=1, epoch=2),
            goes(61, 2),
        ],
        [*refreshed(), blocked(20), asks(20, 2, "Metadata")],
        [
            *ready(),
            *ends(10, "READY"),
            ConnectAttempt(at_ms=11, node=1, host="c", address="c:1", setup_timeout_ms=100),
        ],
    ],
)
def test_justified_events_pass(events):
    assert rules(events) == []


def test_backoff_growth_is_limited_as_in_kafka():
    assert [growing_ms(100, 1_000, earlier) for earlier in (0, 1, 3, 9)] == [
        (80, 120),
        (160, 240),
        (640, 960),
        (800, 1_000),
    ]
    assert growing_ms(500, 100, 3) == (100, 100)


@pytest.fixture(scope="module")
def trial():
    return SimulatedTrial(spec_of(ANY_SCENARIO, ClientRef("reference", "0"), 5), "test").run()


@pytest.mark.parametrize("scenario", [ANY_SCENARIO, NETWORK_SCENARIO])
def test_reference_client_is_not_accused(scenario):
    for seed in range(20, 26):
        evidence = SimulatedTrial(spec_of(scenario, ClientRef("reference", "0"), seed), "test").run()
        assert CHECK.run(evidence) == []


def told(trial, events, *, live=False):
    spec = replace(trial.record.spec, broker="local:4.3.1x1") if live else trial.record.spec
    return dataclasses.replace(
        trial,
        record=replace(trial.record, spec=spec),
        trace=tuple(events),
    )


def test_live_trials_have_more_slack(trial):
    late = [blocked(0), unblocked(deadlines.limits_of(trial).max_block_ms + 1_400)]
    assert CHECK.run(told(trial, late))
    assert CHECK.run(told(trial, late, live=True)) == []


@pytest.mark.parametrize(("stalled_ms", "is_doubted"), [((9_000, 12_000), True), ((3_000, 6_500), False)])
def test_lateness_after_a_stall_is_doubtful(trial, stalled_ms, is_doubted):
    """An early event remains the client's fault."""
    late_ms = deadlines.limits_of(trial).max_block_ms + 2_000
    assert late_ms == 12_000
    stalls = (tuple(at_ms * 1_000_000 for at_ms in stalled_ms),)

    def found(*events):
        evidence = told(trial, events, live=True)
        return CHECK.run(
            dataclasses.replace(evidence, record=replace(evidence.record, harness_stalls=stalls), history=())
        )

    with raises_code(Inconclusive, "harness-stalled") if is_doubted else nullcontext():
        assert found(blocked(0), unblocked(late_ms))
    assert found(blocked(0), unblocked(5, error=TIMED_OUT))
