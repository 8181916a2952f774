"""The history of a complete trial: missing, duplicated and contradictory events are detected everywhere."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace as restruct

from harness.judging.completeness import lacking
from harness.model.contract import CRASHED, Fatal, OpComplete, OpInvoke, Stats
from suites.perturbations.edits import with_record
from tests.harness.judging.completeness.whole_trial import (
    CLOSE_NS,
    SEEDS,
    code_of,
    killed_in_close,
    whole,
    without,
)


@given(st.sampled_from(SEEDS), st.data())
def test_a_duplicated_event_is_detected(seed, data):
    history = whole(seed).history
    at = data.draw(st.integers(0, len(history) - 1))
    to = data.draw(st.integers(at, len(history)))
    assert code_of(replace(whole(seed), history=(*history[:to], history[at], *history[to:]))) == (
        "history-incomplete"
    )


@given(st.sampled_from(SEEDS), st.data())
def test_swapped_events_are_detected_after_renumbering(seed, data):
    """The order violates the contract: a result before its call, or a time that decreases."""
    history = whole(seed).history
    one, other = sorted(data.draw(st.sets(st.integers(0, len(history) - 1), min_size=2, max_size=2)))
    assume(history[one].mono_ns < history[other].mono_ns)
    swapped = [*history]
    swapped[one], swapped[other] = swapped[other], swapped[one]
    renumbered = tuple(restruct(event, seq=seq) for seq, event in enumerate(swapped))
    assert code_of(replace(whole(seed), history=renumbered)) == "history-incomplete"


def as_upstream(evidence):
    """Return the evidence with one event per result, unnumbered, as Kafka's verifiable clients write them."""
    told = []
    for event in evidence.history:
        if isinstance(event, OpComplete) and event.op == "send":
            told += [(True, row) for row in of_rows(event)]
        else:
            told.append((False, event))
    seqs = accumulate(0 if unnumbered else 1 for unnumbered, _ in told)
    history = [restruct(event, seq=seq - 1) for seq, (_, event) in zip(seqs, told, strict=True)]
    return replace(evidence, history=tuple(history))


def of_rows(event):
    columns = ("outcome", "error", "invoke_ns", "complete_ns", "records", "partition", "offset")
    for row in range(len(event.records)):
        yield restruct(event, wall_ns=0, **{name: [getattr(event, name)[row]] for name in columns})


@given(st.sampled_from(SEEDS), st.data())
def test_only_unnumbered_results_may_repeat_a_number(seed, data):
    evidence = as_upstream(whole(seed))
    assert len(evidence.history) > len(whole(seed).history)
    assert lacking(evidence) is None
    at = data.draw(st.integers(1, len(evidence.history) - 1))
    again = (*evidence.history[:at], evidence.history[at], *evidence.history[at:])
    assert code_of(replace(evidence, history=again)) == "history-incomplete"


@given(st.sampled_from(SEEDS), st.data())
def test_a_result_of_an_unsent_record_is_detected(seed, data):
    history = whole(seed).history
    results = [at for at, event in enumerate(history) if isinstance(event, OpComplete) and event.op == "send"]
    at = data.draw(st.sampled_from(results))
    row = data.draw(st.integers(0, len(history[at].records) - 1))
    records = [*history[at].records]
    records[row] = data.draw(st.integers(whole(seed).record.spec.workload.records))
    told = restruct(history[at], records=records)
    found = lacking(replace(whole(seed), history=(*history[:at], told, *history[at + 1 :])))
    assert found.params == {"lack": "result-not-invoked", "position": at}
    assert f"record {records[row]}, " in found.message


def test_a_call_beyond_the_planned_records_is_detected():
    history = whole().history
    at = next(at for at, event in enumerate(history) if isinstance(event, OpInvoke) and event.op == "send")
    far = restruct(history[at], count=10**12)
    assert code_of(replace(whole(), history=(*history[:at], far, *history[at + 1 :]))) == "history-incomplete"


@given(st.sampled_from(SEEDS), st.data())
def test_a_missing_event_is_detected(seed, data):
    history = whole(seed).history
    at = data.draw(st.integers(0, len(history) - 1))
    assert code_of(replace(whole(seed), history=without(history, at))) == "history-incomplete"
    assert code_of(replace(whole(seed), history=history[:at])) == "history-incomplete"


def test_gaps_must_match_the_number_of_unknown_events():
    beats = [at for at, event in enumerate(whole().history) if isinstance(event, Stats)]
    gappy = replace(whole(), history=without(whole().history, beats[2]))
    assert lacking(with_record(gappy, left_out=1)) is None
    assert code_of(with_record(gappy, left_out=2)) == "history-incomplete"
    assert code_of(with_record(whole(), left_out=1)) == "history-incomplete"


def test_a_crashed_or_killed_client_needs_no_last_event():
    history = whole().history
    crash = Fatal(seq=len(history) - 1, mono_ns=history[-1].mono_ns, wall_ns=0, error=CRASHED, message="boom")
    assert lacking(replace(whole(), history=(*history[:-1], crash))) is None
    assert lacking(killed_in_close(whole())) is None
    end_ns = whole().record.phases.final_ns + CLOSE_NS - 1
    assert code_of(killed_in_close(whole(), end_ns=end_ns)) == "history-incomplete"


def test_a_client_that_closed_in_time_needs_its_last_event():
    history, phases = whole().history, whole().record.phases
    closed = next(event for event in history if isinstance(event, OpComplete) and event.op == "close")
    late = with_record(whole(), phases=restruct(phases, end_ns=phases.final_ns + 10 * CLOSE_NS))
    assert lacking(late) is None
    assert code_of(replace(late, history=history[:-1])) == "history-incomplete"
    late_ns = phases.final_ns + CLOSE_NS
    answered = restruct(closed, mono_ns=late_ns, complete_ns=[late_ns])
    before = tuple(event for event in history[:-1] if event is not closed)
    assert lacking(replace(late, history=(*before, answered))) is None
