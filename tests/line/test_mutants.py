"""Every mutant fails by the check that is meant for it; the true client passes the same trials."""

from __future__ import annotations

import pytest

from clients.mutants import MUTANTS
from harness.registry import checks

pytestmark = pytest.mark.jvm

#: The mutants that are tried with real brokers; the others are caught in virtual time alone.
LIVE = {name: mutant for name, mutant in MUTANTS.items() if mutant.scenario}


@pytest.fixture(scope="module")
def trials(line):
    """Every mutant and the true client, each in the scenarios in which a mutant is to be caught."""
    names = [f"mutant-{name}" for name in LIVE]
    scenarios = sorted({mutant.scenario for mutant in LIVE.values()})
    argv = [word for name in ["reference", *names] for word in ("-c", name)]
    return line.json("run", *scenarios, *argv, "--seed", "7", code=1)["verdicts"]


@pytest.mark.parametrize("name", LIVE)
def test_a_mutant_is_caught_by_its_check(trials, name):
    mutant = LIVE[name]
    [verdict] = [
        v
        for v in trials
        if v["client"].startswith(f"mutant-{name}@")
        and v["scenario"] == mutant.scenario
        and v["guarantee"] == mutant.guarantee
    ]
    meant = {requirement.id for requirement in checks()[mutant.check].requirements}
    caught = {r["id"] for r in verdict["requirements"] if r["verdict"] == "fail" and r["findings"]}
    assert verdict["verdict"] == "fail"
    assert caught & meant, verdict["reason"]


def test_the_true_client_passes_them_all(trials):
    assert {v["verdict"] for v in trials if v["client"].startswith("reference@")} == {"pass"}


def test_every_check_names_a_mutant_that_exists():
    assert {check.mutant for check in checks().values()} <= set(MUTANTS)
