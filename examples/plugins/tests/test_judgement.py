"""The check finds wrong and unreadable answers, and reports nothing for evidence without them."""

from __future__ import annotations

import pytest
from kafka_trial_examples.behaviours import READABLE, RIGHT, behaviours
from kafka_trial_examples.lookup.accounting import MEANING, count
from kafka_trial_examples.lookup.tables import LOOKUPS
from kafka_trial_examples.perturbations import PERTURBATIONS
from kafka_trial_examples.scenarios import CALM
from kafka_trial_examples.wrong_partition_count import CHECK, run

from kafka_trial.api import (
    AtTime,
    ClientRef,
    Ending,
    Evidence,
    FaultRow,
    FaultSpec,
    Guarantee,
    Inconclusive,
    OpComplete,
    OpInvoke,
    PackedTrial,
    Phases,
    TrialRecord,
    TrialSpec,
    TrialVerdict,
)


def evidence(*values: str | None, faults: tuple[FaultRow, ...] = ()) -> Evidence:
    """Return a trial in which the client reported these answers. None is a failed lookup."""
    spec = TrialSpec(
        trial="lookup-1",
        client=ClientRef("lookup", "1.0"),
        broker="scripted:4.3.1x1",
        scenario=CALM.name,
        guarantee=Guarantee.AT_LEAST_ONCE,
        seed=1,
        workload=CALM.workload,
        faults=(),
        config={},
    )
    record = TrialRecord(spec, "run", "topic", 0, Phases(), Ending.COMPLETE)
    numbers = list(range(len(values)))
    history = (
        OpInvoke(seq=0, mono_ns=10, wall_ns=10, op="partition_count", id=1, first=0, count=len(values)),
        OpComplete(
            seq=1,
            mono_ns=20,
            wall_ns=20,
            op="partition_count",
            id=1,
            outcome=["fail" if value is None else "ok" for value in values],
            error=["TimeoutException" if value is None else None for value in values],
            invoke_ns=[10 for _ in numbers],
            complete_ns=[20 for _ in numbers],
            records=numbers,
            value=list(values),
        ),
    )
    return Evidence(record, history, frames=(), faults=faults, log=())


def test_right_answers_and_failed_lookups_are_not_findings():
    assert run(evidence("3", "3", None)) == []


@pytest.mark.parametrize("value", ["4", "0", "33"])
def test_wrong_number_is_a_finding(value):
    [finding] = run(evidence("3", value))
    assert (finding.anomaly, finding.count, finding.requirement) == ("wrong-partition-count", 1, RIGHT)
    assert finding.message == "1 lookup answered with another number of partitions than 3"
    assert finding.samples == ({"n": 1, "value": value},)


@pytest.mark.parametrize("value", ["", "three", "-3", "3.0", "٣", "3" * 11])
def test_answer_that_is_not_a_number_is_a_finding(value):
    [finding] = run(evidence("3", value))
    assert (finding.anomaly, finding.requirement) == ("unreadable-partition-count", READABLE)


def test_changed_topic_is_inconclusive():
    spec = FaultSpec("topic_growth", AtTime(100), 0)
    with pytest.raises(Inconclusive, match="topic_growth"):
        run(evidence("4", faults=(FaultRow(0, spec, None, None),)))


def test_counts_add_up():
    counts = count(evidence("3", "4", "x", None))
    assert counts == {"asked": 4, "answered": 3, "wrong": 1, "unreadable": 1}
    assert list(counts) == list(MEANING)


def test_table_has_a_row_per_lookup():
    told = evidence("3", "x", None)
    verdict = TrialVerdict("lookup-1", "lookup@1.0", "b", CALM.name, "at-least-once", 1, "fail", "")
    rows = LOOKUPS.rows(PackedTrial("run", told, verdict, {}))
    assert rows["partitions"] == [3, None, None] and rows["expected"] == [3] * 3
    assert set(rows) == set(LOOKUPS.columns) - {"trial"}


def test_judged_ids_are_behaviours():
    assert {requirement.id for requirement in CHECK.requirements} == set(behaviours())


@pytest.mark.parametrize("kind", PERTURBATIONS, ids=lambda kind: kind.name)
def test_each_perturbation_is_found(kind):
    base = evidence("3", "3", None)
    assert list(kind.fitting(base)) == [0, 1]
    for place in kind.fitting(base):
        [finding] = run(kind.apply(base, place))
        assert finding.anomaly in kind.caught_by and finding.samples[0]["n"] == place


def test_perturbations_need_an_answer():
    assert not any(kind.fits(evidence(None)) for kind in PERTURBATIONS)
