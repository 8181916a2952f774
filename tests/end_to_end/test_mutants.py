"""Every mutant fails by the check that is meant for it; the true client passes the same trials."""

from __future__ import annotations

import json

import pytest

from clients.seeding.table import mutants
from harness.model.verdicts import Level
from harness.plugins.registry import checks

pytestmark = pytest.mark.jvm

#: The mutants that are tried with real brokers; the others are caught in virtual time alone.
LIVE = {name: mutant for name, mutant in mutants().items() if mutant.scenario}
#: A third of the profile's, and still thrice the request's.
DELIVERY_TIMEOUT_MS = 10_000


@pytest.fixture(scope="module")
def trials(line, tmp_path_factory):
    """Every mutant in the trial in which it is to be caught, and the true client in each of those."""
    names = ["reference", *(f"mutant-{name}" for name in LIVE)]
    scenarios = sorted({mutant.scenario for mutant in LIVE.values()})
    argv = [word for name in names for word in ("-c", name)]
    plan = line.json("run", *scenarios, *argv, "--seed", "7", "--dry-run")
    plan["trials"] = [spec for spec in plan["trials"] if _is_wanted(spec)]
    for spec in plan["trials"]:  # to wait for it in vain is what some of them are caught by
        spec["config"]["delivery.timeout.ms"] = DELIVERY_TIMEOUT_MS
    path = tmp_path_factory.mktemp("mutants") / "plan.json"
    path.write_text(json.dumps(plan))
    return line.json("replay", str(path), "-j", "16", code=1)["verdicts"]


def _is_wanted(spec):
    cell = spec["scenario"], spec["guarantee"]
    if spec["client"]["name"] == "reference":
        return cell in {(mutant.scenario, mutant.guarantee) for mutant in LIVE.values()}
    mutant = LIVE[spec["client"]["name"].removeprefix("mutant-")]
    return cell == (mutant.scenario, mutant.guarantee)


@pytest.mark.parametrize("name", LIVE)
def test_a_mutant_is_caught_by_its_check(trials, name):
    mutant = LIVE[name]
    [verdict] = [v for v in trials if v["client"].startswith(f"mutant-{name}@")]
    by = {mutant.check, *mutant.caught_by} & checks().keys()
    if name == "never_expires":  # what never ends is stuck before its result is late
        by |= {"stuck"}
    meant = {requirement.id: requirement for check in by for requirement in checks()[check].requirements}
    caught = {r["id"] for r in verdict["requirements"] if r["findings"]}
    assert caught & meant.keys(), verdict["reason"]
    breaks_promise = any(each.level is Level.MUST for each in meant.values())
    assert verdict["verdict"] in (("fail",) if breaks_promise else ("fail", "differs"))


def test_the_true_client_passes_them_all(trials):
    verdicts = [v["verdict"] for v in trials if v["client"].startswith("reference@")]
    assert verdicts and set(verdicts) == {"pass"}


def test_every_check_names_a_mutant_that_exists():
    assert {check.killed_mutant for check in checks().values()} <= set(mutants())
