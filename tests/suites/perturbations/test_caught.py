"""The checks find each perturbation of the reference client's evidence, and report nothing else."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

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
from tests.suites.perturbations.conftest import GROUPS, SITUATIONS, trial, trials

pytestmark = pytest.mark.long("judges many changed trials")

CALM = ("produce/calm", Guarantee.AT_LEAST_ONCE)


#: Escapes with a known code, and the reason for each. An entry that no longer escapes must be removed.
ESCAPE: dict[str, str] = {}


@cache
def usual():
    """Return the names of the kinds that one of these trials fits."""
    bases = [base for evidence in trials() for base in (evidence, plain(evidence))]
    return {kind.name for kind in PERTURBATIONS if any(map(kind.fits, bases))}


def nothing(evidence, _):
    return evidence


def made(name="nothing", caught_by=("lost",), apply=nothing, **fields):
    return Perturbation(
        name, channels("log"), "does nothing", caught_by, once(bool), apply, workloads=None, **fields
    )


@pytest.mark.parametrize(
    "situation",
    [
        pytest.param(of, marks=() if of in GROUPS or of in SITUATIONS[::6] else pytest.mark.extended)
        for of in (*SITUATIONS, *GROUPS)
    ],
    ids="-".join,
)
def test_fitting_perturbation_is_caught(situation):
    """Except for those that no registered check can find. They are marked, and do not count as escapes."""
    awaited = {kind.name: EditStats(kind, ()).awaited for kind in PERTURBATIONS}
    kinds = [kind for kind in PERTURBATIONS if not awaited[kind.name]]
    assert len(kinds) >= 60
    evidence = trial(*situation)
    workload = evidence.record.spec.workload.kind
    kinds = [kind for kind in kinds if kind.workloads is None or workload in kind.workloads]
    tried = list(try_trial(evidence, kinds, seed=3, tries=1))
    assert len(tried) > len(usual() & {kind.name for kind in kinds}) // 3
    escaped = [each for each in tried if each.result is Result.ESCAPED and each.perturbation not in ESCAPE]
    assert [(each.perturbation, each.place, each.verdict, each.reason) for each in escaped] == []


def test_unchanged_behaviour_is_not_accused():
    for evidence in trials():
        for base in (evidence, plain(evidence)):
            assert judged(base).verdict in PASSING
        [tried] = try_trial(evidence, [made()], seed=1, tries=1)
        assert (tried.result, tried.codes) == (Result.ESCAPED, ())


def test_accused_trial_is_not_perturbed():
    evidence = trial(*CALM)
    lossy = replace(evidence, log=evidence.log[:-1])
    assert judged(lossy).verdict not in PASSING
    assert list(try_trial(lossy, [made()], seed=1, tries=1)) == []


def without_last(evidence, _):
    last = [record for record in evidence.log if record.partition == 0][-1]
    return replace(evidence, log=tuple(record for record in evidence.log if record is not last))


def test_report_names_what_caught_a_perturbation():
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
    # A truncated log makes the evidence incomplete, so the first error to report that is enough.
    if {each.verdict for each in found if each.perturbation == "as-named"} == {Verdict.FAIL}:
        assert {each.perturbation: each.result for each in found} == {
            "as-named": Result.CAUGHT,
            "by-another": Result.OTHERWISE,
            "too-mild": Result.ESCAPED,
            "not-at-all": Result.ESCAPED,
        }
    counted = {tally.kind.name: len(tally.escaped) for tally in tallies(kinds, found)}
    assert counted["not-at-all"] == 1


def test_listed_escapes_exist():
    assert ESCAPE.keys() <= {each.name for each in PERTURBATIONS}


def test_codes_are_declared_by_checks_and_judge():
    assert {"lost", "duplicate", "early-ack", "transition", "log-torn", "observers-disagree"} <= known_codes()
    assert "there-is-no-such-code" not in known_codes()


def test_evidence_without_a_trace_is_that_of_another_client():
    evidence = trial(*CALM)
    assert evidence.trace and not plain(evidence).trace
    assert plain(evidence).record.spec.client != evidence.record.spec.client
    assert plain(plain(evidence)) == plain(evidence)
