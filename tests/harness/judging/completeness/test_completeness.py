"""A complete trial lacks nothing; gaps in log, faults, trace and phases, and a wrong client, are detected."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict
from msgspec.structs import replace as restruct

from harness.judging.completeness import lacking
from harness.judging.judge import judge
from harness.plugins import registry
from suites.perturbations.edits import with_record
from tests.harness.judging.completeness.whole_trial import (
    ANY,
    SEEDS,
    code_of,
    killed_in_close,
    produce_told,
    whole,
    without,
)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_complete_trial_lacks_nothing(seed):
    assert lacking(whole(seed)) is None


@given(st.sampled_from(SEEDS), st.data())
def test_a_record_missing_from_the_log_is_detected(seed, data):
    log = whole(seed).log
    at = data.draw(st.integers(0, len(log) - 1))
    after = [row for row in log if row.partition == log[at].partition and row.offset > log[at].offset]
    seen = code_of(replace(whole(seed), log=without(log, at)))
    # The last batch may lose its last records unnoticed, because its answer contains only the base offset.
    assert seen == "log-incomplete" or (not after and log[at].offset > log[at].base_offset)


def test_a_missing_log_is_a_harness_error():
    evidence = replace(whole(), log=())
    assert code_of(evidence) == "log-incomplete"
    verdict = judge(evidence, registry.scenario(ANY), registry.checks())
    assert (verdict.verdict, verdict.code, verdict.requirements) == ("harness-error", "log-incomplete", ())


@given(st.sampled_from(SEEDS), st.data())
def test_a_missing_fault_row_is_detected(seed, data):
    faults = whole(seed).faults
    at = data.draw(st.integers(0, len(faults) - 1))
    assert code_of(replace(whole(seed), faults=without(faults, at))) == "faults-incomplete"


@pytest.mark.parametrize("keep", [0, 10])
@pytest.mark.parametrize("as_fields", [False, True])
def test_a_missing_or_truncated_trace_is_detected(keep, as_fields):
    trace = whole().trace
    if as_fields:  # the form in which a live client's trace is read
        trace = tuple({"event": each.__struct_config__.tag, **asdict(each)} for each in trace)
    assert lacking(replace(whole(), trace=trace)) is None
    assert code_of(replace(whole(), trace=trace[:keep])) == "trace-incomplete"
    assert code_of(replace(whole(), trace=trace[:-1])) == "trace-incomplete"
    assert code_of(replace(whole(), trace=without(trace, produce_told(whole())[3]))) == "trace-incomplete"


@pytest.mark.parametrize("keep", [0, 10])
def test_the_trace_of_a_killed_client_covers_all_its_requests(keep):
    killed = killed_in_close(whole())
    assert lacking(killed) is None
    assert lacking(replace(killed, trace=killed.trace[:-1])) is None
    assert code_of(replace(killed, trace=killed.trace[:keep])) == "trace-incomplete"
    assert (
        code_of(replace(killed, trace=without(killed.trace, produce_told(killed)[-1]))) == "trace-incomplete"
    )


def test_a_trace_must_be_complete_even_if_it_is_not_announced():
    told = whole().record.client | {"features": ["producer"]}
    assert lacking(with_record(whole(), client=told)) is None
    cut = replace(whole(), trace=whole().trace[:10])
    assert code_of(with_record(cut, client=told)) == "trace-incomplete"


def test_a_client_without_a_trace_needs_none():
    told = whole().record.client
    assert lacking(with_record(replace(whole(), trace=()), client=told | {"features": ["producer"]})) is None


def test_missing_and_swapped_phases_are_detected():
    phases = whole().record.phases
    assert code_of(with_record(whole(), phases=restruct(phases, final_ns=None))) == "phases-incomplete"
    turned = restruct(phases, load_ns=phases.heal_ns, heal_ns=phases.load_ns)
    assert code_of(with_record(whole(), phases=turned)) == "phases-incomplete"


def test_another_client_version_is_detected():
    told = whole().record.client | {"client_version": "9.9"}
    assert code_of(with_record(whole(), client=told)) == "other-client"
    spec = whole().record.spec
    own = restruct(spec, client=restruct(spec.client, version="own", command=("./mine",)))
    assert lacking(with_record(whole(), client=told, spec=own)) is None
