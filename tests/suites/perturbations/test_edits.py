"""An edit of one channel changes only what it describes, and keeps the evidence consistent."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from harness.model.contract import Stats
from harness.model.verdicts import Guarantee, Outcome
from harness.simulated.judged import judged
from suites.perturbations.batches import never_sent, replaced, sent_later, sent_once_more
from suites.perturbations.edits import with_frames, with_history, with_parts, with_results
from suites.perturbations.exchanges import (
    answer_to,
    answered,
    asked,
    calm,
    exchanges,
    layout,
    request_of,
    settled,
)
from suites.perturbations.pauses import SECOND_NS, idle_ns, paused, quiet, waiting_at
from suites.perturbations.relaying import relaid
from suites.perturbations.trying import plain
from tests.suites.perturbations.conftest import lacks, trial, trials

pytestmark = pytest.mark.long("judges many changed trials")

CALM = ("produce/calm", Guarantee.IDEMPOTENT)
HUNG_UP = ("network/accept-then-close", Guarantee.IDEMPOTENT)
CUT = ("produce/disconnect", Guarantee.IDEMPOTENT)


def test_good_evidence_is_consistent():
    for evidence in trials():
        assert lacks(evidence) == []


@pytest.mark.parametrize("situation", [CALM, CUT])
def test_neutral_edit_changes_nothing(situation):
    evidence = trial(*situation)
    assert relaid(evidence, layout(evidence)) == evidence
    assert with_results(evidence, evidence.operations.values()) == evidence
    assert with_results(evidence, ()) == evidence
    assert with_history(evidence, evidence.history) == evidence
    assert with_frames(evidence, evidence.frames) == evidence
    assert with_parts(evidence, {}) == evidence


def test_every_batch_of_a_calm_trial_is_settled_and_calm():
    evidence = trial(*CALM)
    batches = settled(evidence)
    assert sum(len(batch.records) for batch in batches.values()) == len(evidence.log)
    assert len(batches) == sum(map(len, layout(evidence).values())) == len(exchanges(evidence))
    first_ns = min(send.invoke_ns for send in evidence.operations.values())
    later = [batch for batch in batches.values() if batch.sends[0].invoke_ns > first_ns + SECOND_NS]
    assert {batch.spot for batch in later} <= set(calm(evidence))


def test_resent_batches_are_not_settled():
    evidence = trial(*CUT)
    sent = [(asked(evidence, each).partition, asked(evidence, each).crc) for each in exchanges(evidence)]
    again = {each for each in sent if sent.count(each) > 1}
    assert again
    assert not again & {(batch.partition, batch.records[0].batch_crc) for batch in settled(evidence).values()}


def test_result_can_be_moved_in_time():
    evidence = trial(*CALM)
    send = evidence.operations[100]
    late = changed(send, complete_ns=send.complete_ns + SECOND_NS, outcome=Outcome.INFO, offset=-1)
    moved = with_results(evidence, [late])
    assert moved.operations == evidence.operations | {100: late}
    assert lacks(moved) == []


def test_heartbeats_count_the_remaining_results():
    evidence = trial(*CALM)
    gone = with_results(evidence, [changed(evidence.operations[0], complete_ns=None)])
    assert gone.operations[0].pending
    counts = [
        [event.completed for event in each.history if isinstance(event, Stats) and event.completed]
        for each in (evidence, gone)
    ]
    assert counts[1] == [count - 1 for count in counts[0]]


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_removing_a_batch_leaves_everything_else_in_place(data):
    evidence = trial(*CALM)
    spot = data.draw(st.sampled_from(list(settled(evidence))))
    gone = settled(evidence)[spot]
    left = never_sent(evidence, [spot])
    assert lacks(left) == []
    assert len(left.log) == len(evidence.log) - len(gone.records)
    assert {n for n, copies in left.copies.items() if copies} == set(evidence.copies) - {
        send.n for send in gone.sends
    }
    assert len(exchanges(left)) == len(exchanges(evidence)) - 1
    numbers = {batch.sends[0].n for batch in settled(left).values()}
    assert numbers == {batch.sends[0].n for batch in settled(evidence).values()} - {gone.sends[0].n}
    for partition, batches in layout(left).items():
        sequences = [record.sequence for records in batches for record in records]
        assert sequences == list(range(len(sequences))), partition


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_resent_batch_has_a_request_a_response_and_an_offset(data):
    evidence = trial(*CALM)
    batches = settled(evidence)
    one, behind = (batches[data.draw(st.sampled_from(list(batches)))] for _ in range(2))
    twice = sent_once_more(evidence, one.records, behind)
    assert lacks(twice) == []
    assert len(exchanges(twice)) == len(exchanges(evidence)) + 1
    assert all(len(twice.copies[send.n]) == 2 for send in one.sends)
    [new] = [each for each in exchanges(twice) if twice.frames[each.request].correlation_id >= 1_000_000_000]
    told = answered(twice, new)
    assert told is not None
    first = next(
        record
        for record in twice.log
        if (record.partition, record.offset) == (behind.partition, told.base_offset)
    )
    assert (first.value, first.sequence) == (one.records[0].value, asked(twice, new).base_sequence)
    acked = {send.n: (send.partition, send.offset) for send in twice.acknowledged.values()}
    assert all(
        acked[n] in {(copy.partition, copy.offset) for copy in copies} for n, copies in twice.copies.items()
    )


def test_batch_sent_later_is_after_the_previous_one():
    evidence = trial(*CALM)
    first, second = [batch for batch in settled(evidence).values() if batch.partition == 0][3:5]
    moved = sent_later(evidence, first, second)
    assert lacks(moved) == []
    again = {batch.sends[0].n: batch for batch in settled(moved).values()}
    late, early = again[first.sends[0].n], again[second.sends[0].n]
    assert late.spot > early.spot
    assert request_of(moved, late).t_ns > request_of(moved, early).t_ns
    assert min(send.complete_ns for send in late.sends) >= answer_to(moved, late).t_ns


def test_changed_records_change_the_bytes_everywhere():
    evidence = trial(*CALM)
    spot, batch = next(iter(settled(evidence).items()))
    fewer = replaced(evidence, {spot: batch.records[1:]})
    part = asked(fewer, exchanges(fewer)[exchanges(evidence).index(batch.exchange)])
    assert part.records == len(batch.records) - 1
    assert part.crc == layout(fewer)[spot[0]][0][0].batch_crc != batch.records[0].batch_crc


@pytest.mark.parametrize("situation", [CALM, HUNG_UP])
def test_pause_causes_no_accusation(situation):
    evidence = plain(trial(*situation))
    moments = quiet(evidence)
    assert moments
    before = judged(evidence)
    for at_ns in (moments[0], moments[-1]):
        later = paused(evidence, at_ns, 3 * SECOND_NS)
        assert lacks(later) == []
        after = judged(later)
        assert (after.verdict, after.counts) == (before.verdict, before.counts), after.reason


@given(st.data())
def test_idle_time_has_no_pending_request_and_no_frame(data):
    evidence = trial(*CUT)
    passing = {frame.t_ns for frame in evidence.frames}
    since_ns = data.draw(st.sampled_from(sorted(passing))) + data.draw(st.integers(-1, 1))
    until_ns = since_ns + data.draw(st.integers(0, SECOND_NS))
    found = idle_ns(evidence, since_ns, until_ns)
    moments = {since_ns, *(moment + 1 for moment in passing)} - passing
    free = (at_ns for at_ns in sorted(moments) if since_ns <= at_ns <= until_ns)
    assert found == next((at_ns for at_ns in free if not waiting_at(evidence, at_ns)), None)
