"""The evidence of a group: each event of each process and of the harness is there, and belongs to a process."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as restruct

from harness.judging.completeness import lacking
from harness.model.evidence import Evidence
from harness.model.harness_events import MemberKilled
from harness.model.spec import AtTime, ClientRef, FaultSpec, TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.plugins import registry
from harness.simulated.trial import SimulatedTrial
from harness.workloads.consume.profile import consumer_config

FAULTS = (
    FaultSpec("member_kill", AtTime(1_000), 3_000, {"member": 1}),
    FaultSpec("member_freeze", AtTime(6_000), 1_500, {"member": 1}),
)


@cache
def whole() -> Evidence:
    """Return the evidence of a group of two, one of which is killed and succeeded, and one stopped for a while."""
    client = ClientRef("reference", registry.client("reference").default_version)
    load = Workload(
        kind="consume",
        records=40,
        records_per_command=4,
        interval_ms=1_000,
        partitions=2,
        params={"members": 2},
    )
    config = consumer_config(Guarantee.AT_LEAST_ONCE, {})
    guarantee = Guarantee.AT_LEAST_ONCE
    spec = TrialSpec("t", client, "scripted:4.3.1x1", "group/kill", guarantee, 1, load, FAULTS, config)
    return SimulatedTrial(spec, "run").run()


def code_of(evidence: Evidence) -> str | None:
    reason = lacking(evidence)
    return None if reason is None else reason.code


def without(at: int) -> Evidence:
    history = whole().history
    return replace(whole(), history=(*history[:at], *history[at + 1 :]))


def test_whole_evidence_lacks_nothing():
    assert code_of(whole()) is None


def test_a_missing_event_is_noticed_wherever_it_is():
    unnoticed = [at for at in range(len(whole().history)) if code_of(without(at)) is None]
    assert [type(whole().history[at]).__name__ for at in unnoticed] == []


@given(st.data())
def test_an_event_of_an_unknown_process_is_noticed(data):
    history = whole().history
    at = data.draw(st.integers(0, len(history) - 1))
    changed = (*history[:at], restruct(history[at], producer="m9"), *history[at + 1 :])
    assert code_of(replace(whole(), history=changed)) in ("history-incomplete", "group-incomplete")


@given(st.data())
def test_a_cut_off_history_is_noticed(data):
    at = data.draw(st.integers(0, len(whole().history) - 1))
    assert code_of(replace(whole(), history=whole().history[:at])) is not None


def test_a_killed_process_may_have_said_less():
    """Its last event says so, with the number of the next one."""
    [killed] = [event for event in whole().history if isinstance(event, MemberKilled)]
    before = [event for event in whole().history if event.producer == killed.producer]
    assert before[-1] is killed and killed.seq == before[-2].seq + 1
