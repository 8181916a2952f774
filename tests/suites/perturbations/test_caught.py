"""The checks catch what is put into the evidence of the true client, and accuse nobody of what is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.model.verdicts import Guarantee, Verdict
from harness.plugins.perturbation import Perturbation
from suites.perturbations.perturbation import channels, once
from suites.perturbations.table import PERTURBATIONS
from suites.perturbations.trying import (
    PASSING,
    EditStats,
    Result,
    judged,
    known_codes,
    plain,
    tallies,
    try_trial,
)
from tests.suites.perturbations.conftest import SITUATIONS, trial, trials

pytestmark = pytest.mark.long("judges many changed trials")

CALM = ("produce/calm", Guarantee.AT_LEAST_ONCE)


#: What still escapes although its code is known, and why: an entry that is no longer true is to go.
ESCAPE: dict[str, str] = {}


def nothing(evidence, _):
    return evidence


def made(name="nothing", caught_by=("lost",), apply=nothing, **fields):
    return Perturbation(name, channels("log"), "does nothing", caught_by, once(bool), apply, **fields)


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda of: "-".join(of))
def test_what_fits_is_caught(situation):
    """But for what no registered check can find: that is marked, and is no escape."""
    awaited = {kind.name: EditStats(kind, ()).awaited for kind in PERTURBATIONS}
    kinds = [kind for kind in PERTURBATIONS if not awaited[kind.name]]
    assert len(kinds) >= 60
    tried = list(try_trial(trial(*situation), kinds, seed=3, tries=1))
    assert len(tried) > len(kinds) // 2
    escaped = [each for each in tried if each.result is Result.ESCAPED and each.perturbation not in ESCAPE]
    assert [(each.perturbation, each.place, each.verdict, each.reason) for each in escaped] == []


def test_nothing_is_accused_of_what_was_not_changed():
    for evidence in trials():
        for base in (evidence, plain(evidence)):
            assert judged(base).verdict in PASSING
        [tried] = try_trial(evidence, [made()], seed=1, tries=1)
        assert (tried.result, tried.codes) == (Result.ESCAPED, ())


def test_a_trial_that_is_accused_already_is_not_tried():
    evidence = trial(*CALM)
    lossy = replace(evidence, log=evidence.log[:-1])
    assert judged(lossy).verdict not in PASSING
    assert list(try_trial(lossy, [made()], seed=1, tries=1)) == []


def without_last(evidence, _):
    last = [record for record in evidence.log if record.partition == 0][-1]
    return replace(evidence, log=tuple(record for record in evidence.log if record is not last))


def test_by_what_a_perturbation_is_caught_is_told():
    evidence = trial(*CALM)
    kinds = {
        each.name: each
        for each in (
            made("as-named", ("lost",), without_last),
            made("by-another", ("duplicate",), without_last),
            made("too-mild", ("lost",), without_last, verdict=Verdict.HARNESS_ERROR),
            made("not-at-all"),
        )
    }
    found = list(try_trial(evidence, kinds.values(), seed=1, tries=1))
    # The evidence of a log that ends too early is not whole; whoever says so first has said enough.
    if {each.verdict for each in found if each.perturbation == "as-named"} == {Verdict.FAIL}:
        assert {each.perturbation: each.result for each in found} == {
            "as-named": Result.CAUGHT,
            "by-another": Result.OTHERWISE,
            "too-mild": Result.ESCAPED,
            "not-at-all": Result.ESCAPED,
        }
    counted = {tally.kind.name: len(tally.escaped) for tally in tallies(kinds, found)}
    assert counted["not-at-all"] == 1


def test_what_escapes_is_there():
    assert ESCAPE.keys() <= {each.name for each in PERTURBATIONS}


def test_codes_are_those_that_checks_and_judge_declare():
    assert {"lost", "duplicate", "early-ack", "transition", "log-torn", "observers-disagree"} <= known_codes()
    assert "there-is-no-such-code" not in known_codes()


def test_evidence_without_a_trace_is_that_of_another_client():
    evidence = trial(*CALM)
    assert evidence.trace and not plain(evidence).trace
    assert plain(evidence).record.spec.client != evidence.record.spec.client
    assert plain(plain(evidence)) == plain(evidence)
