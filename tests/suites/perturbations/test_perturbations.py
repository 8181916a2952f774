"""Each perturbation is reproducible, changes evidence consistently, and does nothing where it does not fit."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import pytest
from msgspec.structs import replace as changed

from harness.model.errors import KafkaTrialError
from harness.model.evidence import Evidence
from harness.model.verdicts import Guarantee, Verdict
from harness.plugins import registry
from suites.perturbations.perturbation import drawn
from suites.perturbations.table import NOT_JUDGED, PERTURBATIONS, perturbations
from suites.perturbations.trying import OPTIONAL, plain
from testkit.codes import raises_code
from tests.suites.perturbations.conftest import GROUPS, RARE, SITUATIONS, TRANSACTIONS, lacks, trial

#: Defects that once passed unnoticed, by the perturbation that adds them.
PASSED_ONCE = {
    "all batches of the log reversed": "log-reversed",
    "no producer id": "no-producer-id",
    "a new producer id for every request": "new-producer-id-each-request",
    "keys moved between partitions": "keys-moved",
    "a retry stored in another partition": "sent-to-another-partition",
    "all timestamps 0": "timestamps-zero",
    "no acknowledgement with an offset": "ack-without-offset",
    "3,000 retries a millisecond apart": "retry-storm",
    "Metadata 2,000 times in a second": "metadata-storm",
    "a throttle time of 10 s ignored": "throttle-ignored",
    "500 connections leaked": "connections-leaked",
    "5 in flight where 1 was configured": "several-in-flight-of-one",
    "all records but one given up after 5 ms": "gave-all-up-without-retries",
    "a trace deleted": "trace-missing",
    "a trace cut to 10 events": "trace-cut",
}
#: They need events that no simulated trial here has.
LIVE = {
    *(
        "in-another-topic",
        "of-another-producer",
    ),  # of a load with several producers and topics: see test_loads
    "added-header",
    "commit-before-a-batch",  # of several brokers: see tests/suites/checks/transactions
    "commit-before-an-answer",
    "frame-unseen",
    "one-in-flight-too-many",
    "passed-over-after-truncation",  # of a log that grows again: see tests/suites/checks/consume
    "several-in-flight-of-one",
    "stuck-on-an-answer",
    "trace-no-backoff",
}


def fitting(kind):
    """Return the first trial that a kind fits, with its perturbation, or None."""
    bases = map(partial(_base, kind), (*SITUATIONS, *TRANSACTIONS, *GROUPS, *RARE))
    return next((base for base in bases if kind.fits(base)), None)


def _base(kind, situation):
    evidence = trial(*situation)
    return evidence if kind.channels & OPTIONAL else plain(evidence)


def test_there_are_enough_kinds_and_each_has_a_description():
    assert len(PERTURBATIONS) >= 80
    assert len({each.name for each in PERTURBATIONS}) == len(PERTURBATIONS)
    for each in PERTURBATIONS:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", each.name)
        assert each.caught_by and each.channels and each.guarantees, each.name
        assert each.verdict in (Verdict.FAIL, Verdict.DIFFERS, Verdict.HARNESS_ERROR)
        assert each.defect[0].islower() and not each.defect.endswith("."), each.name
    assert not NOT_JUDGED.keys() & {each.name for each in PERTURBATIONS}


def test_every_channel_has_perturbations():
    assert {channel for each in PERTURBATIONS for channel in each.channels} >= {
        "history",
        "frames",
        "log",
        "trace",
        "faults",
        "record",
        "capture",
    }


def test_defects_that_once_passed_are_covered():
    assert set(PASSED_ONCE.values()) <= set(perturbations())


def test_another_distribution_may_add_perturbations():
    more = replace(PERTURBATIONS[0], name="of-another")
    with registry.replaced("perturbations", {"other": (more,)}):
        assert perturbations()["of-another"] is more
    tables = {"other": (more,), "third": (replace(more),)}
    with (
        registry.replaced("perturbations", tables),
        raises_code(KafkaTrialError, "perturbation-named-twice", name="of-another"),
    ):
        perturbations()


@pytest.mark.long("judges many changed trials")
@pytest.mark.parametrize("kind", PERTURBATIONS, ids=lambda kind: kind.name)
def test_perturbation_changes_evidence_and_keeps_it_consistent(kind):
    base = fitting(kind)
    if base is None:
        assert kind.name in LIVE
        pytest.skip("no simulated trial has what it needs")
    for place in drawn(kind, base, seed=7, tries=3):
        perturbed = kind.apply(base, place)
        assert perturbed != base
        assert perturbed == kind.apply(base, place)
        if kind.verdict is not Verdict.HARNESS_ERROR:
            assert lacks(perturbed) == []


@pytest.mark.long("judges many changed trials")
@pytest.mark.parametrize("kind", PERTURBATIONS, ids=lambda kind: kind.name)
def test_nothing_fits_an_empty_trial(kind):
    whole = trial("produce/calm", Guarantee.AT_LEAST_ONCE)
    spec = whole.record.spec
    for guarantee in Guarantee:
        record = replace_spec(whole, guarantee)
        empty = Evidence(record=record, history=(), frames=(), faults=(), log=())
        assert not kind.fits(empty)
        assert drawn(kind, empty, seed=1, tries=5) == []
        if guarantee not in kind.guarantees:
            other = replace(whole, record=record)
            assert not kind.fits(other)
    assert whole.record.spec == spec


def replace_spec(evidence, guarantee):
    return changed(evidence.record, spec=changed(evidence.record.spec, guarantee=guarantee))


@pytest.mark.long("judges many changed trials")
def test_seed_determines_the_places():
    kind = perturbations()["lost-record"]
    evidence = plain(trial("produce/calm", Guarantee.IDEMPOTENT))
    places = drawn(kind, evidence, seed=1, tries=10)
    assert places == drawn(kind, evidence, seed=1, tries=10)
    assert len(set(places)) == 10
    assert places[:3] == drawn(kind, evidence, seed=1, tries=3)
    assert places != drawn(kind, evidence, seed=2, tries=10)
    everywhere = drawn(kind, evidence, seed=1, tries=100_000)
    assert sorted(everywhere) == sorted(kind.fitting(evidence))
