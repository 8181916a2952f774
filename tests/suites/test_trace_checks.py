"""Checks of the client's own trace: the true client is never accused, and every rule that is broken is named."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest
from msgspec.structs import replace

from clients.reference.trace import (
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
    ProducerIdAssigned,
    RequestLost,
    RequestSent,
    ResponseReceived,
    SequencesRestarted,
    StateChanged,
)
from harness import registry
from harness.judge import judge
from harness.outcome import Guarantee
from harness.simulated.trial import SimulatedTrial
from harness.spec import ClientRef
from suites.checks import trace_model
from suites.checks.bookkeeping import UNLIMITED, Bookkeeping
from suites.checks.in_flight import InFlight
from suites.checks.sequence import Sequences
from suites.checks.traced import TRACE_CHECKS, TRACED
from suites.checks.transition import Transitions
from suites.scenarios.generated import ANY_SCENARIO, NETWORK_SCENARIO
from suites.simulated.generated import spec_of

REFERENCE = ClientRef("reference", "this")
SCENARIOS = (ANY_SCENARIO, NETWORK_SCENARIO)
A, B, C = "t-0#1", "t-0#2", "t-0#3"


@pytest.fixture(scope="module")
def trials():
    """Simulated trials of the true client, under each guarantee."""
    return [
        SimulatedTrial(spec_of(scenario, REFERENCE, seed), "test").run()
        for seed in range(3)
        for scenario in SCENARIOS
    ]


def asked(evidence):
    return [check for check in TRACE_CHECKS if evidence.record.spec.guarantee in check.guarantees]


def test_the_true_client_is_not_accused(trials):
    assert {each.record.spec.guarantee for each in trials} >= {Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT}
    for evidence in trials:
        assert evidence.trace
        assert [check.find(evidence) for check in asked(evidence)] == [[] for _ in asked(evidence)]


def test_a_trace_from_a_file_is_the_trace(trials):
    for evidence in trials:
        rows = tuple(msgspec.json.decode(msgspec.json.encode(event)) for event in evidence.trace)
        read = trace_model.events_of(
            with_trace(evidence, (*rows, {"event": "of a later release", "at_ms": 1}))
        )
        assert list(read) == list(evidence.trace)


def with_trace(evidence, trace):
    return dataclasses.replace(evidence, trace=tuple(trace))


def test_who_tells_no_trace_is_not_asked(trials):
    with_one, without = (
        {row.id for row in judge(each, ANY_SCENARIO, registry.checks()).requirements}
        for each in (trials[0], with_trace(trials[0], ()))
    )
    assert "NET-INF-06" in with_one and "NET-INF-06" not in without
    assert set(TRACED) <= set(ANY_SCENARIO.requirements)


# little stories


def moved(machine, subject, before, cause, after, at_ms=0):
    return StateChanged(
        at_ms=at_ms, machine=machine, subject=subject, before=before, cause=cause, after=after
    )


def life(name, *moves, at_ms=0):
    """A batch's moves, from where it stands: "CLOSED drain IN_FLIGHT"."""
    return [moved("batch", name, *move.split(), at_ms=at_ms) for move in moves]


CLOSE, DRAIN, BACK = "OPEN close CLOSED", "CLOSED drain IN_FLIGHT", "IN_FLIGHT reenqueue CLOSED"
WELL, BADLY = "IN_FLIGHT succeed SUCCEEDED", "IN_FLIGHT fail FAILED"


def made(name, at_ms=0):
    return [
        BatchCreated(at_ms=at_ms, batch=name, topic="t", partition=0, memory_bytes=9),
        *life(name, CLOSE, at_ms=at_ms),
    ]


def sent(name, base=0, attempt=1, epoch=0, count=5, at_ms=0, producer_id=7):
    return [
        moved("batch", name, "CLOSED", "drain", "IN_FLIGHT", at_ms),
        BatchSent(
            at_ms=at_ms,
            batch=name,
            node=1,
            attempt=attempt,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=base,
            record_count=count,
        ),
    ]


def back(name, attempts=1, error="NOT_ENOUGH_REPLICAS", retry_at_ms=0, at_ms=0):
    return [
        *life(name, BACK, at_ms=at_ms),
        BatchRetried(at_ms=at_ms, batch=name, error=error, attempts=attempts, retry_at_ms=retry_at_ms),
    ]


def well(name):
    return [*life(name, WELL), BatchEnded(at_ms=0, batch=name, record_count=5)]


def badly(name, at_ms=0):
    return [*life(name, BADLY, at_ms=at_ms), BatchEnded(at_ms=at_ms, batch=name, record_count=5, error="X")]


def assigned(epoch=0, locally=False, producer_id=7):
    return [
        ProducerIdAssigned(at_ms=0, producer_id=producer_id, producer_epoch=epoch, bumped_locally=locally)
    ]


def restarted(epoch):
    return [SequencesRestarted(at_ms=0, partition="t-0", producer_epoch=epoch, rewritten_batches=0)]


def split(name, *counts):
    parts = [
        BatchClosed(at_ms=0, batch=f"{name}.{n}", reason="part", record_count=count, uncompressed_bytes=9)
        for n, count in enumerate(counts, 1)
    ]
    return [
        *life(name, "IN_FLIGHT split SPLIT"),
        *parts,
        BatchSplit(at_ms=0, batch=name, parts=len(counts), record_count=5),
    ]


def sequence(state, before="CLEAN"):
    causes = {"RETRYING": "goes-again", "UNRESOLVED": "unknown-end", "BUMPED": "broken", "CLEAN": "settled"}
    return [moved("sequence", "t-0", before, causes[state], state)]


def rules(breaches):
    return [breach.requirement for breach in breaches]


def books(**limits):
    given = {"retries": UNLIMITED, "delivery_timeout_ms": 1_000, "one_in_flight": False, "answers": True}
    return Bookkeeping(**(given | limits))


def queues(**limits):
    given = {"limit": 5, "answers_produce": True, "backoff_ms": 100, "backoff_max_ms": 1_000} | limits
    return InFlight(given.pop("limit"), **given)


@pytest.mark.parametrize(
    ("rule", "events"),
    [
        (None, [*life(A, CLOSE, DRAIN, BACK, DRAIN, BADLY, "FAILED succeed FAILED")]),
        ("PRD-FIN-01", life(A, CLOSE, "CLOSED succeed SUCCEEDED")),
        ("PRD-FIN-01", life(A, CLOSE, DRAIN, DRAIN)),
        ("PRD-FIN-03", life(A, CLOSE, DRAIN, WELL, "SUCCEEDED fail FAILED")),
        ("PRD-FIN-03", life(A, CLOSE, DRAIN, BADLY, "FAILED abort ABORTED")),
        ("PRD-FIN-01", [*life(A, CLOSE, DRAIN, WELL), *[BatchEnded(at_ms=0, batch=A, record_count=1)] * 2]),
        ("PRD-FIN-01", [*life(A, CLOSE), BatchEnded(at_ms=0, batch=A, record_count=1)]),
        (
            "PRD-FIN-01",
            [*life(A, CLOSE, DRAIN, WELL), BatchEnded(at_ms=0, batch=A, record_count=1, error="X")],
        ),
        ("NET-CON-01", [moved("connection", "1", "DISCONNECTED", "connect", "READY")]),
        ("NET-CON-01", [moved("connection", "1", "CONNECTING", "connected", "CHECKING_API_VERSIONS")]),
        ("PRD-IDM-11", [moved("producer-id", "", "FATAL_ERROR", "initialize", "INITIALIZING")]),
        ("PRD-IDM-07", [moved("sequence", "t-0", "BUMPED", "settled", "CLEAN")]),
        (None, [moved("of a later release", "", "A", "b", "C")]),
    ],
)
def test_transitions(rule, events):
    assert rules(Transitions().watch(events)) == ([] if rule is None else [rule])


@pytest.mark.parametrize(
    ("rule", "limits", "events"),
    [
        (
            None,
            {},
            [*made(A), *made(B), *sent(A), *sent(B), *back(A), *sent(A, attempt=2), *well(A), *well(B)],
        ),
        (None, {}, [*made(A), *sent(A), *split(A, 2, 3), *sent(f"{A}.1", count=2)]),
        ("PRD-FIN-04", {}, [*made(A), *made(A)]),
        ("PRD-FIN-04", {}, sent(A)),
        ("PRD-FIN-04", {}, [*made(A), sent(A)[1]]),
        ("PRD-EXP-03", {}, [*made(A), *sent(A), *badly(A), sent(A)[1]]),
        ("PRD-EXP-03", {}, [*made(A), *sent(A), *back(A, at_ms=1_000)]),
        ("PRD-EXP-02", {}, [*made(A), BatchExpired(at_ms=999, batch=A, age_ms=999, was_in_flight=False)]),
        ("PRD-EXP-02", {}, [*made(A), BatchExpired(at_ms=1_500, batch=A, age_ms=1_000, was_in_flight=False)]),
        ("PRD-SND-02", {}, [*made(A), *sent(A, attempt=2)]),
        ("PRD-SND-02", {"retries": 0}, [*made(A), *sent(A), *back(A), *sent(A, attempt=2)]),
        ("PRD-SND-02", {}, [*made(A), *sent(A), *back(A, attempts=2)]),
        ("PRD-SND-03", {}, [*made(A), *sent(A), *back(A, error="INVALID_RECORD")]),
        (None, {}, [*made(A), *sent(A), *back(A, error="UNKNOWN_PRODUCER_ID")]),
        ("PRD-ACC-04", {}, [*made(A), *sent(A), *back(A, retry_at_ms=100), *sent(A, attempt=2, at_ms=99)]),
        (None, {}, [*made(A), *sent(A), *back(A, retry_at_ms=100), *sent(A, attempt=2, at_ms=100)]),
        (
            None,
            {},
            [
                *made(A),
                *sent(A),
                LeadershipUpdated(at_ms=0, partition="t-0", leader=2, epoch=1),
                *back(A, retry_at_ms=100),
                *sent(A, attempt=2, at_ms=1),
            ],
        ),
        ("PRD-ACC-04", {}, [*made(A), *made(B), *sent(B)]),
        ("PRD-ACC-04", {}, [*made(A), *made(B), *sent(A), *back(A), *sent(B)]),
        ("PRD-SPL-01", {}, [*made(A), *made(B), *sent(A), *split(A, 2, 3), *sent(B)]),
        ("PRD-SPL-01", {}, [*made(A), *sent(A), *split(A, 2, 2)]),
        ("PRD-SPL-01", {}, [*made(A), *sent(A), *split(A, 5)]),
        (
            "PRD-SPL-03",
            {},
            [
                *made(A),
                *sent(A),
                *split(A, 2, 3),
                BatchExpired(at_ms=2_000, batch=f"{A}.1", age_ms=1_000, was_in_flight=False),
            ],
        ),
        ("PRD-FIN-04", {}, [*made(A), moved("life", "", "CLOSING", "drained", "CLOSED")]),
        ("PRD-ACC-08", {"one_in_flight": True, "answers": False}, [*made(A), *made(B), *sent(A), *sent(B)]),
    ],
)
def test_bookkeeping(rule, limits, events):
    assert rules(books(**limits).watch(events)) == ([] if rule is None else [rule])


def test_one_in_flight_waits_for_the_answer_even_where_the_batch_has_expired():
    asks = RequestSent(at_ms=0, node=1, api="Produce", version=9, correlation_id=1, size_bytes=1)
    answers = ResponseReceived(at_ms=0, node=1, api="Produce", correlation_id=1, latency_ms=1)
    first = [*made(A), *made(B), asks, *sent(A), *badly(A)]
    assert rules(books(one_in_flight=True).watch([*first, *sent(B)])) == ["PRD-ACC-08"]
    assert rules(books(one_in_flight=True).watch([*first, answers, *sent(B)])) == []


@pytest.mark.parametrize(
    ("rule", "events"),
    [
        (None, [*assigned(), *sent(A), *sent(B, 5), *well(A), *well(B), *sent(C, 10)]),
        (None, [*assigned(), *sent(A), *sent(B, 5), *back(A), *back(B), *sent(A, attempt=2)]),
        (None, [*assigned(), *sent(A), *split(A, 2, 3), *sent(f"{A}.1", 0, count=2), *well(f"{A}.1")]),
        ("PRD-IDM-01", sent(A, 0)),
        ("PRD-IDM-01", [*assigned(), *sent(A, producer_id=-1)]),
        ("PRD-IDM-02", [*assigned(), *sent(A, 3)]),
        ("PRD-IDM-02", [*assigned(), *sent(A), *sent(B, 6)]),
        ("PRD-IDM-13", [*assigned(), *sent(A), *sent(B, 4)]),
        ("PRD-IDM-13", [*assigned(), *sent(A), *well(A), *sent(B, 0)]),
        ("PRD-IDM-03", [*assigned(), *sent(A), *back(A), *sent(A, 5, attempt=2)]),
        ("PRD-IDM-03", [*assigned(), *sent(A), *back(A), *sent(A, epoch=1, attempt=2)]),
        ("PRD-IDM-03", [*assigned(), *sent(A), *back(A), *sent(A, count=4, attempt=2)]),
        ("PRD-IDM-07", [*assigned(), *sent(A), *back(A), *sent(B, 5)]),
        ("PRD-IDM-07", [*assigned(), *sent(A), *sent(B, 5), *back(A), *back(B), *sent(B, 5, attempt=2)]),
        (
            "PRD-IDM-07",
            [*assigned(), *sent(A), *back(A), *sequence("RETRYING"), *sent(A, attempt=2), *sent(B, 5)],
        ),
        ("PRD-IDM-09", [*assigned(), *assigned(2, locally=True)]),
        ("PRD-IDM-09", [*assigned(32_767), *assigned(0, locally=True)]),
        ("PRD-IDM-10", [*assigned(3), *assigned(2)]),
        (None, [*assigned(32_767), *assigned(0, producer_id=8)]),
        ("PRD-IDM-10", [*assigned(), *sent(A), *assigned(1, locally=True), *restarted(1)]),
        ("PRD-IDM-10", [*assigned(), *sent(A), *assigned(1, locally=True), *sent(B, 0, epoch=1)]),
        (
            None,
            [
                *assigned(),
                *sent(A),
                *sent(B, 5),
                *badly(A),
                *back(B),
                *assigned(1, locally=True),
                *restarted(1),
                *sent(B, 0, epoch=1, attempt=2),
                *sent(C, 5, epoch=1),
            ],
        ),
        ("PRD-EXP-06", [*assigned(), *sent(A), *badly(A), *sent(B, 5)]),
        ("PRD-EXP-06", [*assigned(), *sent(A), *sent(B, 5), *badly(A), *sent(C, 10)]),
        (None, [*assigned(), *sent(A), *sent(B, 5), *badly(A), *well(B), *sent(C, 10)]),
        (None, [*assigned(), *sent(A), *badly(A), *life(A, "FAILED succeed FAILED"), *sent(B, 5)]),
        ("PRD-IDM-03", [*assigned(), *sent(A), *split(A, 2, 3), *sent(f"{A}.1", 5, count=2)]),
    ],
)
def test_sequences(rule, events):
    assert rules(Sequences().watch(events)) == ([] if rule is None else [rule])


def test_six_batches_are_too_many():
    many = [event for n in range(6) for event in sent(f"t-0#{n}", 5 * n)]
    assert rules(Sequences().watch([*assigned(), *many[:-2]])) == []
    assert rules(Sequences().watch([*assigned(), *many])) == ["PRD-IDM-04"]


def test_sequences_go_round():
    last = 2**31 - 5
    monitor = Sequences()
    monitor.watch([*assigned(), *sent(A)])
    monitor._chains["t-0"].next = last
    assert rules(monitor.watch([*sent(B, last), *sent(C, 0)])) == []


# connections


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
def test_in_flight(rule, limits, events):
    assert rules(queues(**limits).watch(events)) == ([] if rule is None else [rule])


def test_requests_lost_newest_first_are_out_of_order():
    events = [*UP, *asks("Produce", 1), *asks("Produce", 2), *ends(), *loses(2), *loses(1)]
    assert set(rules(queues().watch(events))) == {"NET-INF-06"}


def test_a_finding_counts_and_names_the_first(trials):
    [evidence] = [each for each in trials if each.record.spec.guarantee is Guarantee.IDEMPOTENT][:1]
    twice = [event for event in evidence.trace for _ in range(1 + isinstance(event, BatchEnded))]
    [finding] = TRACE_CHECKS[0].find(with_trace(evidence, twice))
    assert finding.count == sum(isinstance(event, BatchEnded) for event in evidence.trace)
    assert "took a second final state (PRD-FIN-01)" in finding.message
    assert finding.samples[0]["requirement"] == "PRD-FIN-01"


def test_any_attempt_under_other_numbers_is_found(trials):
    for evidence in trials:
        if evidence.record.spec.guarantee is Guarantee.IDEMPOTENT:
            places = [i for i, event in enumerate(evidence.trace) if isinstance(event, BatchSent)]
            for place in places[:: max(len(places) // 8, 1)]:
                trace = list(evidence.trace)
                trace[place] = replace(trace[place], base_sequence=trace[place].base_sequence + 1)
                assert Sequences().watch(trace), f"event {place}"
