"""What is missing, cut or contradictory is seen, wherever it is; and a whole trial lacks nothing.

The evidence is of simulated trials of the reference client, which leave everything that a live one does.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict
from msgspec.structs import replace as restruct

from harness import registry
from harness.contract import CRASHED, Fatal, OpInvoke, Stats
from harness.evidence import Evidence, passed_and_stopped
from harness.judge import judge
from harness.rows import Fate, FrameKind
from harness.simulated.judged import RUN_ID
from harness.simulated.trial import SimulatedTrial
from harness.spec import ClientRef
from harness.wholeness import lacking
from suites.simulated.generated import spec_of

ANY = "generated/any"
SEEDS = range(1, 4)


@cache
def whole(seed: int = 1) -> Evidence:
    ref = ClientRef("reference", registry.client("reference").default_version)
    return SimulatedTrial(spec_of(registry.scenario(ANY), ref, seed), RUN_ID).run()


def rows_of(evidence):
    return sorted((*evidence.frames, *evidence.stopped), key=lambda row: row.t_ns)


def with_rows(evidence, rows):
    frames, stopped = passed_and_stopped(rows)
    return replace(evidence, frames=frames, stopped=stopped)


def with_record(evidence, **changes):
    return replace(evidence, record=restruct(evidence.record, **changes))


def code_of(evidence):
    reason = lacking(evidence)
    return reason and reason.code


def without(rows, at):
    return (*rows[:at], *rows[at + 1 :])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_whole_trial_lacks_nothing(seed):
    assert lacking(whole(seed)) is None


@given(st.sampled_from(SEEDS), st.data())
def test_any_event_that_is_missing_from_the_history_is_seen(seed, data):
    history = whole(seed).history
    at = data.draw(st.integers(0, len(history) - 1))
    assert code_of(replace(whole(seed), history=without(history, at))) == "history-incomplete"
    assert code_of(replace(whole(seed), history=history[:at])) == "history-incomplete"


@given(st.sampled_from(SEEDS), st.data())
def test_any_end_or_beginning_that_is_missing_from_the_frames_is_seen(seed, data):
    """But for a cut between two connections, which leaves whole ones: then what they did is looked for elsewhere."""
    rows = rows_of(whole(seed))
    at = data.draw(st.integers(1, len(rows) - 1))
    goes_through = {row.conn for row in rows[:at]} & {row.conn for row in rows[at:]}
    for kept in (rows[:at], rows[at:]):
        seen = code_of(with_rows(whole(seed), kept))
        assert seen == "frames-incomplete" if goes_through else seen in (None, "frames-incomplete")


@given(st.sampled_from(SEEDS), st.data())
def test_any_record_that_is_missing_from_the_log_is_seen(seed, data):
    log = whole(seed).log
    at = data.draw(st.integers(0, len(log) - 1))
    after = [row for row in log if row.partition == log[at].partition and row.offset > log[at].offset]
    seen = code_of(replace(whole(seed), log=without(log, at)))
    # The last record of a batch at the very end could be a batch of one less: the answer tells its base alone.
    assert seen == "log-incomplete" or (not after and log[at].offset > log[at].base_offset)


def test_a_log_that_is_gone_accuses_nobody():
    evidence = replace(whole(), log=())
    assert code_of(evidence) == "log-incomplete"
    verdict = judge(evidence, registry.scenario(ANY), registry.checks())
    assert (verdict.verdict, verdict.code, verdict.requirements) == ("harness-error", "log-incomplete", ())


@given(st.sampled_from(SEEDS), st.data())
def test_any_fault_without_its_row_is_seen(seed, data):
    faults = whole(seed).faults
    at = data.draw(st.integers(0, len(faults) - 1))
    assert code_of(replace(whole(seed), faults=without(faults, at))) == "faults-incomplete"


@pytest.mark.parametrize("keep", [0, 10])
@pytest.mark.parametrize("as_fields", [False, True])
def test_a_trace_that_is_gone_or_cut_is_seen(keep, as_fields):
    trace = whole().trace
    if as_fields:  # as a live client's is read
        trace = tuple({"event": each.__struct_config__.tag, **asdict(each)} for each in trace)
    assert lacking(replace(whole(), trace=trace)) is None
    assert code_of(replace(whole(), trace=trace[:keep])) == "trace-incomplete"
    assert code_of(replace(whole(), trace=trace[:-1])) == "trace-incomplete"
    requests = [
        at
        for at, each in enumerate(whole().trace)
        if each.__struct_config__.tag == "request_sent" and each.api == "Produce"
    ]
    assert code_of(replace(whole(), trace=without(trace, requests[3]))) == "trace-incomplete"


def test_a_client_without_a_trace_needs_none():
    told = whole().record.client
    assert lacking(with_record(replace(whole(), trace=()), client=told | {"features": ["producer"]})) is None


def test_an_answer_needs_its_request_unless_a_rule_made_it():
    rows = [*rows_of(whole())]
    at = next(at for at, row in enumerate(rows) if row.kind is FrameKind.RESPONSE and row.fault is None)
    rows[at] = restruct(rows[at], correlation_id=-7)
    assert lacking(with_rows(whole(), rows)).params == {"what": "an answer has no request", "count": 1}
    rows[at] = restruct(rows[at], fault="doubled", fate=Fate.CHANGED)
    assert lacking(with_rows(whole(), rows)) is None


def test_records_in_the_log_that_no_request_had():
    rows = [
        restruct(row, produce=tuple(restruct(part, records=0) for part in row.produce))
        if row.kind is FrameKind.REQUEST
        else row
        for row in rows_of(whole())
    ]
    found = lacking(with_rows(whole(), rows))
    assert found.params == {"what": "a record of the log has no request", "count": len(whole().log)}


def test_phases_are_all_there_and_in_order():
    phases = whole().record.phases
    assert code_of(with_record(whole(), phases=restruct(phases, final_ns=None))) == "phases-incomplete"
    turned = restruct(phases, load_ns=phases.heal_ns, heal_ns=phases.load_ns)
    assert code_of(with_record(whole(), phases=turned)) == "phases-incomplete"


def test_the_client_is_the_one_that_was_asked_for():
    told = whole().record.client | {"client_version": "9.9"}
    assert code_of(with_record(whole(), client=told)) == "other-client"
    spec = whole().record.spec
    own = restruct(spec, client=restruct(spec.client, command=("./mine",)))
    assert lacking(with_record(whole(), client=told, spec=own)) is None


def test_events_that_the_contract_does_not_know_leave_gaps_that_are_counted():
    beats = [at for at, event in enumerate(whole().history) if isinstance(event, Stats)]
    gappy = replace(whole(), history=without(whole().history, beats[2]))
    assert lacking(with_record(gappy, left_out=1)) is None
    assert code_of(with_record(gappy, left_out=2)) == "history-incomplete"
    assert code_of(with_record(whole(), left_out=1)) == "history-incomplete"


def test_a_process_that_ended_itself_or_was_killed_has_no_last_word():
    history = whole().history
    crash = Fatal(seq=len(history) - 1, mono_ns=history[-1].mono_ns, wall_ns=0, error=CRASHED, message="boom")
    assert lacking(replace(whole(), history=(*history[:-1], crash))) is None
    at = next(at for at, event in enumerate(history) if isinstance(event, OpInvoke) and event.op == "close")
    hung = replace(whole(), history=history[: at + 1])
    phases = hung.record.phases
    waited = restruct(phases, end_ns=phases.final_ns + 10_000_000_000)
    assert lacking(with_record(hung, phases=waited)) is None
    waited = restruct(phases, end_ns=phases.final_ns + 9_999_999_999)
    assert code_of(with_record(hung, phases=waited)) == "history-incomplete"
