"""Whole trials in virtual time. They find all parts by their entry points, as ``kafka-trial`` does."""

from __future__ import annotations

import pytest
from kafka_trial_examples.one_partition_too_many import MUTANT
from kafka_trial_examples.perturbations import PERTURBATIONS

from kafka_trial.api import judged, scenario, simulate

SCENARIOS = ("lookup/calm", "lookup/late-answers")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_client_passes(name, seed):
    _, verdict = simulate(name, "lookup", seed)
    assert verdict.verdict == "pass", verdict.reason
    assert verdict.counts == {"asked": 60, "answered": 60, "wrong": 0, "unreadable": 0}


@pytest.mark.parametrize("name", MUTANT.scenarios)
def test_the_mutant_is_caught_by_its_check(name):
    _, verdict = simulate(name, "mutant-one-partition-too-many")
    assert (verdict.verdict, verdict.code) == ("fail", "wrong-partition-count")
    assert {each.id for each in verdict.requirements if each.findings} == set(MUTANT.breaks)


def test_the_fault_delays_answers_and_shows_it():
    evidence, verdict = simulate("lookup/late-answers", "lookup", 7)
    [fault] = verdict.faults
    assert fault.hits > 0 and fault.effects
    [row] = evidence.faults
    began_ns, ended_ns = row.effective_ns
    delay_ns = row.spec.params["delay_ms"] * 1_000_000
    slow = [
        each
        for each in evidence.operations.values()
        if began_ns <= each.invoke_ns and each.complete_ns <= ended_ns
    ]
    assert slow and all(each.complete_ns - each.invoke_ns >= delay_ns for each in slow)


def test_without_the_fault_no_answer_is_late():
    calm, _ = simulate("lookup/calm", "lookup", 7)
    late, _ = simulate("lookup/late-answers", "lookup", 7)
    from kafka_trial_examples.late_answers import FAULT

    assert FAULT.effect(late.faults[0], late).count > 0
    assert FAULT.effect(late.faults[0], calm).count == 0


@pytest.mark.parametrize("kind", PERTURBATIONS, ids=lambda kind: kind.name)
def test_perturbed_trial_fails(kind):
    evidence, _ = simulate("lookup/calm", "lookup")
    verdict = judged(kind.apply(evidence, kind.fitting(evidence)[0]))
    assert (verdict.verdict, verdict.code) == ("fail", kind.caught_by[0])


def test_client_of_another_workload_is_unsupported():
    _, verdict = simulate("produce/calm", "lookup")
    assert verdict.verdict == "unsupported" and "does not offer" in verdict.reason
    _, verdict = simulate("lookup/calm", "reference")
    assert verdict.verdict == "unsupported"


def test_the_scenarios_are_registered():
    assert [scenario(name).workload.kind for name in SCENARIOS] == ["lookup", "lookup"]
