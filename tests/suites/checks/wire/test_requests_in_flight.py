"""Requests in flight: a lower bound of the client's requests, compared with its limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.model.contract import Stats
from harness.model.rows import Disposition, FrameKind
from harness.model.verdicts import Guarantee
from suites.checks.wire.requests_in_flight import CHECK, in_flight

LIMIT = "max.in.flight.requests.per.connection"
BOTH = st.sampled_from([Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT])
WALL_NS = 1_795_370_000_000_000_000


def dated(told, age_ms=1):
    """Give every batch this age when it is sent, a client that reports its wall clock, and acks."""
    told.history.append(Stats(seq=0, mono_ns=0, wall_ns=WALL_NS, sent=0, completed=0))
    for at, frame in enumerate(told.frames):
        made_ms = (frame.t_ns + WALL_NS) // 1_000_000 - age_ms
        if frame.produce and frame.kind is FrameKind.REQUEST:
            parts = tuple(replace(part, max_timestamp_ms=made_ms) for part in frame.produce)
            told.frames[at] = replace(frame, produce=parts, acks=-1)
    return told


def burst(told, count, partition=None, first_ms=10, sequenced=False):
    """Add requests one after the other, and then their responses."""
    before = told.correlation
    for n in range(count):
        place = n % 2 if partition is None else partition
        told.call(n)
        told.request([n], place, at_ms=first_ms + n, sequence=(7, 0, n) if sequenced else None)
    after = told.correlation
    for n in range(count):
        told.correlation = before + 1 + n
        told.answer(n % 2 if partition is None else partition, n, at_ms=first_ms + 50 + n)
    told.correlation = after
    return told


def found(told):
    return [
        (finding.requirement, finding.level, finding.count, finding.params["most"])
        for finding in CHECK.run(told.evidence())
    ]


def arises(told):
    evidence = told.evidence()
    return {requirement.id: requirement.arises(evidence) for requirement in CHECK.requirements}


@given(data=st.data(), guarantee=BOTH)
def test_faithful_trial_is_never_accused(faithful, data, guarantee):
    assert found(dated(data.draw(faithful(guarantee)))) == []


@given(limit=st.integers(1, 4), count=st.integers(1, 9))
def test_requests_beyond_the_limit_are_counted(story, limit, count):
    told = dated(burst(story(config={LIMIT: limit}), count))
    over = max(0, count - limit)

    accused = [("NET-INF-03", "SHOULD", over, count)] if over else []
    if limit == 1 and count > 2:
        accused.append(("PRD-ACC-08", "MUST", count - 2, (count + 1) // 2))
    assert found(told) == accused


def test_client_without_the_setting_is_not_judged_by_it(story):
    told = dated(burst(story(config={LIMIT: 1}, not_set={LIMIT: "it is always 1"}), 4))

    assert found(told) == []
    assert arises(told)["NET-INF-03"] == arises(told)["PRD-ACC-08"] == 0


def test_broker_remembers_five_batches(numbered):
    config = {LIMIT: 10}
    assert found(dated(burst(numbered(config=config), 5, partition=0, sequenced=True))) == []

    told = dated(burst(numbered(config=config), 7, partition=0, sequenced=True))
    assert found(told) == [("PRD-IDM-04", "MUST", 2, 7)]
    assert arises(told)["PRD-IDM-04"] == 6


def test_batches_of_several_partitions_are_counted_separately(numbered):
    assert found(dated(burst(numbered(config={LIMIT: 10}), 10, sequenced=True))) == []


def test_request_older_than_the_timeout_may_be_given_up(story):
    limited = {LIMIT: 1, "request.timeout.ms": 3_000}
    assert found(dated(burst(story(config=limited), 2), age_ms=2_990)) != []
    assert found(dated(burst(story(config=limited), 2), age_ms=3_000)) == []


def test_requests_on_two_connections_do_not_add_up(story):
    told = story(config={LIMIT: 1})
    told.call(0, 1)
    told.request([0], 0, at_ms=10, conn=1)
    told.request([1], 0, at_ms=11, conn=2)

    assert found(dated(told)) == []


@pytest.mark.parametrize("acks", [0, None])
def test_without_acks_nothing_is_in_flight(story, acks):
    told = dated(burst(story(config={LIMIT: 1}), 4))
    told.frames = [replace(frame, acks=acks) for frame in told.frames]

    assert found(told) == []
    assert set(arises(told).values()) == {0}


def test_rows_without_timestamps_show_nothing(story):
    told = burst(story(config={LIMIT: 1}), 4)

    assert in_flight(told.evidence()) == []


def in_turn(story, gap_ms, **latency):
    """Each request reaches the witness this long after the response to the previous one."""
    told = story(config={LIMIT: 1})
    for n in range(10):
        at_ms = n * (gap_ms + 1)
        told.call(n)
        told.request([n], 0, at_ms=at_ms)
        told.answer(0, n, at_ms=at_ms + 1)
    if latency:
        told.fault("latency", -2_000, 5_000, **latency)
    return dated(told)


def test_latency_is_part_of_the_round_trip(story):
    """A response takes 100 ms to the client, and the next request 100 ms to the witness."""
    delays = {"upstream_ms": 100, "downstream_ms": 100}
    assert found(in_turn(story, 150)) == []
    assert found(in_turn(story, 250, **delays)) == []
    assert ("NET-INF-03", "SHOULD", 9, 2) in found(in_turn(story, 150, **delays))


def test_latency_counts_only_while_it_is_certain(story):
    delays = {"upstream_ms": 100, "downstream_ms": 100}
    told = in_turn(story, 150, **delays)
    (row,) = told.faults
    begin_ns = row.effective_ns[0]
    told.faults = [replace(row, certain_ns=(begin_ns, begin_ns + 1_000_000_000))]
    assert found(told) == []

    told.faults = [replace(row, certain_ns=None)]
    assert found(told) == []

    told.faults = [replace(row, spec=replace(row.spec, brokers=(2,)))]
    assert found(told) == []


def test_latency_does_not_count_while_the_call_that_adds_it_runs(story):
    """On a busy machine the call took 900 ms, and the client had each response at once until it returned."""
    told = in_turn(story, 150, upstream_ms=100, downstream_ms=100)
    (row,) = told.faults
    end_ns = row.effective_ns[1]
    told.faults = [replace(row, certain_ns=(end_ns - 1_000_000, end_ns))]
    assert found(told) == []


@pytest.mark.parametrize("edge_ms", [0, 1])
def test_fault_that_begins_or_ends_releases_bytes_held_by_latency(story, edge_ms):
    """Toxiproxy's stages do this, so the time of traffic in flight is uncertain."""
    told = in_turn(story, 150, upstream_ms=100, downstream_ms=100)
    assert ("NET-INF-03", "SHOULD", 9, 2) in found(told)

    begin_ms, end_ms = (-5_000, 700) if edge_ms else (700, 9_000)
    told.fault("bandwidth", begin_ms, end_ms, upstream_bytes_per_s=4_000)
    [(_, _, count, _), *_] = found(dated(told))
    assert 0 < count < 9


def test_nothing_counts_after_a_duplicated_response(story):
    told = dated(burst(story(config={LIMIT: 1}), 4, first_ms=100))
    told.call(99)
    told.deliver([99], 0, at_ms=10)
    told.frames[-1] = replace(told.frames[-1], disposition=Disposition.ANNOTATED)

    assert found(told) == []
