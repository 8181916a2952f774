"""Availability: the definitions of gaps and recovery, as properties and in small examples."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as restruct

from harness.judging.availability import STEADY_MS, Span, availability, gaps, recovery
from harness.model.rows import Availability, Disposition, FrameKind

MS = 1_000_000
moments = st.integers(0, 40)
waits = st.lists(st.tuples(moments, moments).map(lambda ends: Span(min(ends), max(ends))), max_size=8)
acks = st.lists(moments, max_size=8)


def length(found):
    return max((gap.end_ns - gap.begin_ns for gap in found), default=0)


def by_instant(spans, told):
    """Return the longest gap by its definition, for each instant between two whole moments."""
    longest = run = 0
    for at in range(41):
        run = 0 if at in told else run
        run = run + 1 if any(span.begin_ns <= at < span.end_ns for span in spans) else 0
        longest = max(longest, run)
    return longest


@given(waits, acks)
def test_the_longest_gap_matches_its_definition(spans, told):
    assert length(gaps(spans, told)) == by_instant(spans, told)


@given(waits, acks, moments)
def test_one_more_acknowledgement_never_makes_availability_worse(spans, told, more):
    fewer, greater = gaps(spans, told), gaps(spans, [*told, more])
    assert length(greater) <= length(fewer)
    for after in (0, 10, 20):
        before = recovery(sorted(told), fewer, after, 5)
        now = recovery(sorted([*told, more]), greater, after, 5)
        for was, then in zip(before, now, strict=True):
            assert was is None or (then is not None and then <= was)


@given(waits, acks, moments, st.integers(1, 20))
def test_recovery_matches_its_definition(spans, told, after, limit):
    found = gaps(spans, told)
    first, steady = recovery(sorted(told), found, after, limit)

    def is_steady(moment):
        return all(gap.end_ns - gap.begin_ns <= limit for gap in found if gap.begin_ns >= moment)

    later = sorted(moment for moment in told if moment >= after)
    assert first == next(iter(later), None)
    assert steady == next(filter(is_steady, later), None)


@given(waits, acks, st.integers(0, 100))
def test_gaps_do_not_depend_on_the_start_time(spans, told, shift):
    moved = [Span(span.begin_ns + shift, span.end_ns + shift) for span in spans]
    assert [
        (gap.begin_ns - shift, gap.end_ns - shift) for gap in gaps(moved, [at + shift for at in told])
    ] == [tuple(gap) for gap in gaps(spans, told)]


def outage(story, linger_ms=5):
    """Records are acknowledged every 100 ms until a fault from 1 s to 3 s, once at 3.2 s, and again from 5 s on."""
    told = story(config={"linger.ms": linger_ms}, final_ms=7_000)
    for n in range(30):
        told.call(n, at_ms=n * 100)
    for n in range(10):
        told.result(n, n * 100 + 20)
    told.fault("latency", 200, 500)
    told.fault("refused", 1_000, 3_000)
    told.result(10, 3_200)
    for n in range(11, 26):
        told.result(n, 5_000 + n)
    told.result(26, 6_000, outcome="fail")
    told.result(27, 6_000, outcome="info")
    return told


def test_the_availability_of_an_outage(story):
    assert availability(outage(story).evidence()) == Availability(
        offered=30,
        acked=26,
        failed=1,
        unknown=3,
        longest_gap_ms=2_200,
        first_ack_ms=200,
        steady_ack_ms=None,  # two records wait until the close
        recovered=False,
        p50_ns=2_723 * MS,  # of record 23, the fourteenth of 28
        p99_ns=3_911 * MS,  # of record 11, the slowest
        requests=0,
        request_bytes=0,
    )


@pytest.mark.parametrize(("gap_ms", "steady_ack_ms"), [(STEADY_MS + 5, 2_011), (STEADY_MS + 6, None)])
def test_a_steady_recovery_allows_gaps_of_a_second_and_linger(story, gap_ms, steady_ack_ms):
    told = outage(story, linger_ms=5)
    for n in (28, 29):
        told.result(n, 5_025 + gap_ms, outcome="fail")
    found = availability(told.evidence())
    assert (found.first_ack_ms, found.steady_ack_ms) == (200, steady_ack_ms)
    assert found.recovered is (steady_ack_ms is not None)


def test_no_recovery_without_faults_and_no_gap_without_records(story):
    told = story()
    assert availability(told.evidence()) == Availability(requests=0, request_bytes=0)
    told.call(0, at_ms=0)
    told.result(0, 20)
    found = availability(told.evidence())
    assert (found.longest_gap_ms, found.first_ack_ms, found.steady_ack_ms) == (20, None, None)


def test_a_fault_without_effect_needs_no_recovery(story):
    told = story()
    told.call(0, at_ms=0)
    told.result(0, 20)
    told.fault("reset", None)
    assert availability(told.evidence()).first_ack_ms is None


def test_a_record_without_a_result_is_a_gap_until_the_close_or_the_end(story):
    told = story(final_ms=9_000)
    told.call(0, at_ms=1_000)
    evidence = told.evidence()
    assert availability(evidence).longest_gap_ms == 8_000
    phases = restruct(evidence.record.phases, final_ns=None)
    cut_off = replace(evidence, record=restruct(evidence.record, phases=phases))
    assert availability(cut_off).longest_gap_ms == 59_000


def one_record(story, fault, *, call_ms=500, result_ms=2_500, outcome="ok"):
    """Return the availability of a trial with one record and this fault; None for no fault or no result."""
    told = story(final_ms=7_000)
    told.call(0, at_ms=call_ms)
    if result_ms is not None:
        told.result(0, result_ms, outcome=outcome)
    if fault is not None:
        told.fault("latency", *fault)
    return availability(told.evidence())


@pytest.mark.parametrize(
    ("fault", "more", "recovered"),
    [
        (None, {}, None),
        ((None,), {}, None),  # it never took effect
        ((1_000, 3_000), {}, None),  # the only record had its result before the fault ended
        ((1_000, 2_500), {}, True),  # it had its result at that moment
        ((1_000, 2_499), {}, True),
        ((1_000, 2_000), {"call_ms": 2_400}, True),
        ((1_000, 2_000), {"outcome": "fail"}, False),
        ((1_000, 2_000), {"outcome": "info"}, False),
        ((1_000, 2_000), {"result_ms": None}, False),
    ],
)
def test_it_recovered_if_work_after_the_last_fault_was_acknowledged(story, fault, more, recovered):
    found = one_record(story, fault, **more)
    assert found.recovered is recovered
    assert (found.steady_ack_ms is not None) is (recovered is True)


@given(st.lists(st.tuples(st.integers(0, 6_000), st.sampled_from(["ok", "fail", "info"])), max_size=20))
def test_latencies_are_those_of_all_results_and_the_nearest_rank(story, results):
    told = story()
    told.call(*range(len(results) + 1), at_ms=0)
    for number, (after_ms, outcome) in enumerate(results):
        told.result(number, after_ms, outcome=outcome)
    found = availability(told.evidence())
    ordered = sorted(after_ms * MS for after_ms, _ in results)
    assert (found.p50_ns, found.p99_ns) == (
        (ordered[(len(ordered) + 1) // 2 - 1], ordered[-1]) if ordered else (None, None)
    )


def test_requests_are_those_of_the_load_and_blocked_ones_count(story):
    told = story()
    told.call(0, at_ms=0)
    for at_ms in (1, 2, 3):
        told.request([0], 0, at_ms)
        told.answer(0, 0, at_ms + 0.5)
    told.other(FrameKind.REQUEST, 4, size_bytes=1_000)
    sized = [restruct(each, size_bytes=10 + at) for at, each in enumerate(told.frames)]
    told.frames = sized
    evidence = told.evidence()
    assert (availability(evidence).requests, availability(evidence).request_bytes) == (3, 10 + 12 + 14)
    blocked = restruct(sized[0], disposition=Disposition.BLOCKED, size_bytes=7)
    metadata = restruct(sized[-1], disposition=Disposition.BLOCKED)
    more = availability(replace(evidence, blocked_frames=(blocked, metadata)))
    assert (more.requests, more.request_bytes) == (4, 10 + 12 + 14 + 7)
