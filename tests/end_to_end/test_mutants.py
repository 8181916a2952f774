"""Each mutant fails by its check, and the true client passes the same trials."""

from __future__ import annotations

import json

import pytest

from clients.seeding.table import mutants
from harness.model.verdicts import Level
from harness.plugins.registry import checks

pytestmark = [pytest.mark.jvm, pytest.mark.extended]

#: The mutants that are tested with real brokers. The others are tested in virtual time only.
LIVE = {name: mutant for name, mutant in mutants().items() if mutant.scenario}
#: A third of the profile's value, and still three times that of a request.
DELIVERY_TIMEOUT_MS = 10_000


@pytest.fixture(scope="module")
def trials(line, tmp_path_factory):
    """Return the trial of each mutant, and the same trials with the true client."""
    names = ["reference", *(f"mutant-{name}" for name in LIVE)]
    scenarios = sorted({mutant.scenario for mutant in LIVE.values()})
    argv = [word for name in names for word in ("-c", name)]
    plan = line.json("run", *scenarios, *argv, "--seed", "7", "--dry-run")
    plan["trials"] = [spec for spec in plan["trials"] if _is_wanted(spec)]
    for spec in plan["trials"]:  # some mutants are caught only because this timeout passes without a result
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
def test_mutant_is_caught_by_its_check(trials, name):
    mutant = LIVE[name]
    [verdict] = [v for v in trials if v["client"].startswith(f"mutant-{name}@")]
    by = {mutant.check, *mutant.caught_by} & checks().keys()
    if name == "never_expires":  # an operation that never ends is reported as stuck before its result is late
        by |= {"stuck"}
    meant = {requirement.id: requirement for check in by for requirement in checks()[check].requirements}
    caught = {r["id"] for r in verdict["requirements"] if r["findings"]}
    assert caught & meant.keys(), verdict["reason"]
    breaks_promise = any(each.level is Level.MUST for each in meant.values())
    assert verdict["verdict"] in (("fail",) if breaks_promise else ("fail", "differs"))


def test_true_client_passes_all_trials(trials):
    verdicts = [v["verdict"] for v in trials if v["client"].startswith("reference@")]
    assert verdicts and set(verdicts) == {"pass"}


def test_every_check_names_an_existing_mutant():
    named = {check.killed_mutant for check in checks().values() if check.killed_mutant}
    assert named <= set(mutants())
