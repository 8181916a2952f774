"""Short traces of batches: correct ones pass, and others report the broken rule."""

from __future__ import annotations

import pytest

from clients.reference.telemetry.trace import (
    BatchClosed,
    BatchCreated,
    BatchEnded,
    BatchExpired,
    BatchRetried,
    BatchSent,
    BatchSplit,
    LeadershipUpdated,
    ProducerIdAssigned,
    RequestSent,
    ResponseReceived,
    SequencesRestarted,
    StateChanged,
)
from suites.checks.trace.bookkeeping import UNLIMITED, Bookkeeping
from suites.checks.trace.sequence import Sequences
from suites.checks.trace.transition import Transitions

A, B, C = "t-0#1", "t-0#2", "t-0#3"


def moved(machine, subject, before, cause, after, at_ms=0):
    return StateChanged(
        at_ms=at_ms, machine=machine, subject=subject, before=before, cause=cause, after=after
    )


def life(name, *moves, at_ms=0):
    """Return a batch's transitions, such as "CLOSED drain IN_FLIGHT"."""
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


@pytest.mark.parametrize(
    ("rule", "events"),
    [
        (None, [*life(A, CLOSE, DRAIN, BACK, DRAIN, BADLY, "FAILED succeed FAILED")]),
        ("PRD-FIN-01", life(A, CLOSE, "CLOSED succeed SUCCEEDED")),
        ("PRD-FIN-01", life(A, CLOSE, DRAIN, DRAIN)),
        ("PRD-FIN-03", life(A, CLOSE, DRAIN, WELL, "SUCCEEDED fail FAILED")),
        ("PRD-FIN-03", life(A, CLOSE, DRAIN, BADLY, "FAILED abort ABORTED")),
        ("PRD-FIN-02", life(A, CLOSE, DRAIN, BADLY, "FAILED succeed SUCCEEDED")),
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
def test_transition_rules(rule, events):
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
def test_bookkeeping_rules(rule, limits, events):
    assert rules(books(**limits).watch(events)) == ([] if rule is None else [rule])


def test_one_in_flight_waits_for_the_response_of_an_expired_batch():
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
def test_sequence_rules(rule, events):
    assert rules(Sequences().watch(events)) == ([] if rule is None else [rule])


def test_six_batches_in_flight_are_too_many():
    many = [event for n in range(6) for event in sent(f"t-0#{n}", 5 * n)]
    assert rules(Sequences().watch([*assigned(), *many[:-2]])) == []
    assert rules(Sequences().watch([*assigned(), *many])) == ["PRD-IDM-04"]


def test_sequences_wrap():
    last = 2**31 - 5
    monitor = Sequences()
    monitor.watch([*assigned(), *sent(A)])
    # The number wraps only after 2**31 records.
    monitor._chains["t-0"].next = last
    assert rules(monitor.watch([*sent(B, last), *sent(C, 0)])) == []
