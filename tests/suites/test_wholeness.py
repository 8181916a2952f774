"""What is missing, cut or contradictory is seen, wherever it is; and a whole trial lacks nothing.

The evidence is of simulated trials of the reference client, which leave everything that a live one does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from functools import cache
from itertools import accumulate

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import asdict
from msgspec.structs import replace as restruct

from harness import registry
from harness.contract import CRASHED, Fatal, OpComplete, OpInvoke, Stats
from harness.evidence import Evidence, passed_and_stopped
from harness.judge import judge
from harness.liveness import CLOSE_TIMEOUT_MS
from harness.rows import Fate, FrameKind
from harness.simulated.judged import RUN_ID
from harness.simulated.trial import SimulatedTrial
from harness.spec import ClientRef
from harness.units import NS_PER_MS
from harness.wholeness import lacking
from suites.simulated.generated import spec_of

ANY = "generated/any"
SEEDS = range(1, 4)
CLOSE_NS = CLOSE_TIMEOUT_MS * NS_PER_MS


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


def produce_told(evidence):
    return [
        at
        for at, each in enumerate(evidence.trace)
        if each.__struct_config__.tag == "request_sent" and each.api == "Produce"
    ]


def killed_in_close(evidence, **phases):
    """As if its process had not closed in time."""
    history = evidence.history
    at = next(at for at, event in enumerate(history) if isinstance(event, OpInvoke) and event.op == "close")
    now = evidence.record.phases
    waited = restruct(now, **{"end_ns": now.final_ns + CLOSE_NS} | phases)
    return with_record(replace(evidence, history=history[: at + 1]), phases=waited)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_whole_trial_lacks_nothing(seed):
    assert lacking(whole(seed)) is None


@given(st.sampled_from(SEEDS), st.data())
def test_any_event_that_is_there_twice_is_seen(seed, data):
    history = whole(seed).history
    at = data.draw(st.integers(0, len(history) - 1))
    to = data.draw(st.integers(at, len(history)))
    assert code_of(replace(whole(seed), history=(*history[:to], history[at], *history[to:]))) == (
        "history-incomplete"
    )


@given(st.sampled_from(SEEDS), st.data())
def test_events_that_change_places_are_seen_though_they_are_numbered_anew(seed, data):
    """A result before its call, a configuration after it, a time that goes back: as the contract has it."""
    history = whole(seed).history
    one, other = sorted(data.draw(st.sets(st.integers(0, len(history) - 1), min_size=2, max_size=2)))
    assume(history[one].mono_ns < history[other].mono_ns)
    swapped = [*history]
    swapped[one], swapped[other] = swapped[other], swapped[one]
    renumbered = tuple(restruct(event, seq=seq) for seq, event in enumerate(swapped))
    assert code_of(replace(whole(seed), history=renumbered)) == "history-incomplete"


def as_upstream(evidence):
    """Its results one for each record, without number and wall clock, as Kafka's own verifiable clients tell them."""
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
def test_only_results_without_a_number_have_that_of_the_event_before(seed, data):
    evidence = as_upstream(whole(seed))
    assert len(evidence.history) > len(whole(seed).history)
    assert lacking(evidence) is None
    at = data.draw(st.integers(1, len(evidence.history) - 1))
    again = (*evidence.history[:at], evidence.history[at], *evidence.history[at:])
    assert code_of(replace(evidence, history=again)) == "history-incomplete"


@given(st.sampled_from(SEEDS), st.data())
def test_a_result_of_a_record_that_was_never_handed_over_is_seen(seed, data):
    history = whole(seed).history
    results = [at for at, event in enumerate(history) if isinstance(event, OpComplete) and event.op == "send"]
    at = data.draw(st.sampled_from(results))
    row = data.draw(st.integers(0, len(history[at].records) - 1))
    records = [*history[at].records]
    records[row] = data.draw(st.integers(whole(seed).record.spec.workload.records))
    told = restruct(history[at], records=records)
    found = lacking(replace(whole(seed), history=(*history[:at], told, *history[at + 1 :])))
    assert found.params == {"what": "an event contradicts those before it", "position": at}
    assert f"a result for record {records[row]}, which was never invoked" in found.message


def test_a_record_beyond_those_of_the_plan_was_never_asked_for():
    history = whole().history
    at = next(at for at, event in enumerate(history) if isinstance(event, OpInvoke) and event.op == "send")
    far = restruct(history[at], count=10**12)
    assert code_of(replace(whole(), history=(*history[:at], far, *history[at + 1 :]))) == "history-incomplete"


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
    assert code_of(replace(whole(), trace=without(trace, produce_told(whole())[3]))) == "trace-incomplete"


@pytest.mark.parametrize("keep", [0, 10])
def test_the_trace_of_a_client_that_was_killed_tells_all_that_was_seen(keep):
    killed = killed_in_close(whole())
    assert lacking(killed) is None
    assert lacking(replace(killed, trace=killed.trace[:-1])) is None
    assert code_of(replace(killed, trace=killed.trace[:keep])) == "trace-incomplete"
    assert (
        code_of(replace(killed, trace=without(killed.trace, produce_told(killed)[-1]))) == "trace-incomplete"
    )


def test_a_trace_that_is_there_is_whole_whatever_the_client_says_of_it():
    told = whole().record.client | {"features": ["producer"]}
    assert lacking(with_record(whole(), client=told)) is None
    cut = replace(whole(), trace=whole().trace[:10])
    assert code_of(with_record(cut, client=told)) == "trace-incomplete"


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


def exchanged(evidence):
    """The answered requests that no rule touched: by connection, in order."""
    rows = [row for row in rows_of(evidence) if row.fault is None]
    answered = {(row.conn, row.correlation_id) for row in rows if row.kind is FrameKind.RESPONSE}
    asked = defaultdict(list)
    for row in rows:
        if row.kind is FrameKind.REQUEST and (row.conn, row.correlation_id) in answered:
            asked[row.conn].append(row.correlation_id)
    return asked


def an_answer(data, seed, *, last=False):
    """The place of an answer among the rows, of one behind which its connection went on, or of any."""
    asked = exchanged(whole(seed))
    conns = sorted(conn for conn, ids in asked.items() if last or len(ids) > 1)
    conn = data.draw(st.sampled_from(conns))
    id = data.draw(st.sampled_from(asked[conn] if last else asked[conn][:-1]))
    key = (FrameKind.RESPONSE, conn, id)
    return next(
        at for at, row in enumerate(rows_of(whole(seed))) if (row.kind, row.conn, row.correlation_id) == key
    )


@given(st.sampled_from(SEEDS), st.data())
def test_any_answer_that_is_missing_before_another_is_seen(seed, data):
    """A broker answers in order: only the last may never have come."""
    rows = rows_of(whole(seed))
    at = an_answer(data, seed)
    found = lacking(with_rows(whole(seed), without(rows, at)))
    assert found.params == {"what": "a request has no answer", "count": 1}
    stopped = [*rows]
    stopped[at] = restruct(rows[at], fault="dropped", fate=Fate.STOPPED)
    assert lacking(with_rows(whole(seed), stopped)) is None
    other_id = [*rows]
    other_id[at] = restruct(rows[at], correlation_id=-7, fault="wrong", fate=Fate.CHANGED)
    assert lacking(with_rows(whole(seed), other_id)) is None


def test_an_answer_with_another_id_stands_for_no_other_that_is_missing():
    """The first answer is missing; the last has another id, and came too late to be it."""
    rows = rows_of(whole())
    conn = next(conn for conn, ids in exchanged(whole()).items() if len(ids) > 2)
    answers = [at for at, row in enumerate(rows) if row.kind is FrameKind.RESPONSE and row.conn == conn]
    last = restruct(rows[answers[-1]], correlation_id=-7, fault="wrong", fate=Fate.CHANGED)
    changed = [*rows[: answers[-1]], last, *rows[answers[-1] + 1 :]]
    assert lacking(with_rows(whole(), changed)) is None
    found = lacking(with_rows(whole(), without(changed, answers[0])))
    assert found.params == {"what": "a request has no answer", "count": 1}


@given(st.sampled_from(SEEDS), st.data())
def test_any_answer_that_is_there_twice_is_seen(seed, data):
    rows = rows_of(whole(seed))
    at = an_answer(data, seed, last=True)
    again = lacking(with_rows(whole(seed), [*rows[: at + 1], rows[at], *rows[at + 1 :]]))
    assert again.params == {"what": "an answer has no request", "count": 1}


def test_a_request_that_a_rule_stopped_or_that_asks_for_no_answer_has_none():
    rows = [*rows_of(whole())]
    early = {(conn, id) for conn, ids in exchanged(whole()).items() for id in ids[:-1]}
    at = next(
        at for at, row in enumerate(rows) if row.api == "Produce" and (row.conn, row.correlation_id) in early
    )
    key = (FrameKind.RESPONSE, rows[at].conn, rows[at].correlation_id)
    rows = [row for row in rows if (row.kind, row.conn, row.correlation_id) != key]
    assert code_of(with_rows(whole(), rows)) == "frames-incomplete"
    rows[at] = restruct(rows[at], acks=0)
    assert lacking(with_rows(whole(), rows)) is None
    rows[at] = restruct(rows[at], acks=-1, fault="late", fate=Fate.LATE)
    assert lacking(with_rows(whole(), rows)) is None


def a_stored_batch(evidence):
    """The place of a Produce request whose batch is in the log, and which was sent only once."""
    rows = rows_of(evidence)
    sent = Counter((part.partition, part.crc) for row in rows for part in row.produce if part.crc is not None)
    log = {(record.partition, record.batch_crc) for record in evidence.log}
    return next(
        at
        for at, row in enumerate(rows)
        if len(row.produce) == 1
        and (key := (row.produce[0].partition, row.produce[0].crc)) in log
        and sent[key] == 1
    )


def test_the_request_of_another_batch_brought_none_into_the_log():
    """However many more records were sent in all: those of attempts that were not stored are not it."""
    rows = [*rows_of(whole())]
    at = a_stored_batch(whole())
    part = rows[at].produce[0]
    rows[at] = restruct(rows[at], produce=(restruct(part, crc=part.crc ^ 1, records=part.records + 1_000),))
    found = lacking(with_rows(whole(), rows))
    assert found.params == {"what": "a record of the log has no request", "count": part.records}


def test_bytes_that_cannot_be_read_excuse_a_batch_without_a_request_unless_they_end_a_connection():
    rows = [*rows_of(whole())]
    at = a_stored_batch(whole())
    part = rows[at].produce[0]
    rows[at] = restruct(rows[at], produce=(restruct(part, crc=part.crc ^ 1),))
    assert code_of(with_rows(whole(), rows)) == "frames-incomplete"
    close = max(at for at, row in enumerate(rows) if row.kind is FrameKind.CLOSE)
    unread = restruct(rows[close], kind=FrameKind.OPAQUE, closed_by=None, size_bytes=10)
    assert (
        code_of(with_rows(whole(), [*rows[: close + 1], unread, *rows[close + 1 :]])) == "frames-incomplete"
    )
    assert lacking(with_rows(whole(), [*rows[:close], unread, *rows[close:]])) is None


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
    assert lacking(killed_in_close(whole())) is None
    end_ns = whole().record.phases.final_ns + CLOSE_NS - 1
    assert code_of(killed_in_close(whole(), end_ns=end_ns)) == "history-incomplete"


def test_a_client_that_closed_in_time_has_a_last_word_however_long_collecting_took():
    history, phases = whole().history, whole().record.phases
    closed = next(event for event in history if isinstance(event, OpComplete) and event.op == "close")
    late = with_record(whole(), phases=restruct(phases, end_ns=phases.final_ns + 10 * CLOSE_NS))
    assert lacking(late) is None
    assert code_of(replace(late, history=history[:-1])) == "history-incomplete"
    late_ns = phases.final_ns + CLOSE_NS
    answered = restruct(closed, mono_ns=late_ns, complete_ns=[late_ns])
    before = tuple(event for event in history[:-1] if event is not closed)
    assert lacking(replace(late, history=(*before, answered))) is None
