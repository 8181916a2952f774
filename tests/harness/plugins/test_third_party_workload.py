"""Plans, refusals, messages and mutants use the definitions of a third-party workload and its client."""

from __future__ import annotations

import json
import re
import sys

import pytest
from msgspec.structs import replace

from clients.seeding.table import components_of
from harness.cli.main import call
from harness.judging.availability import words
from harness.model.errors import UsageError
from harness.model.mode import Mode
from harness.model.spec import AtTime, ClientRef, FaultSpec, FrameMatch, Plan
from harness.planning import validate_plan
from harness.planning.plan import Axes, make_plan
from harness.planning.setting_values import accepted
from harness.plugins import registry
from testkit.codes import coded, has_error, raises_code

THEIRS = """
    from dataclasses import replace

    from clients.adapters.reference import Reference
    from harness.api import Launch, Param
    from harness.workloads.produce.kind import WORKLOAD as OURS
    from suites.scenarios.produce import CALM


    WORKLOAD = replace(
        OURS, name="tally", api="Metadata", apis=("ApiVersions",), done="counted",
        settings={"acks": None, "tally.depth": range(1, 5)}, params=(Param("depth", 2, 1, 4, "how deep"),),
        config=lambda guarantee, overrides: {"acks": True} | OURS.config(guarantee, {}) | overrides,
    )
    SCENARIO = replace(CALM, name="tally/calm", workload=CALM.workload.__class__(kind="tally"))


    class LiveOnly:
        name, summary, language, default_version, versions = "theirs", "it", "c", "1", ("1",)

        def __init__(self, name):
            self.name = name

        def install(self, version):
            return Launch(("true",), {})

        def published(self):
            return ["1"]


    class Mutant:
        of, defect, caught_by, breaks, scenarios = "theirs", "is wrong", ("lost",), (), ("tally/calm",)

        def client(self, name):
            return LiveOnly(name)


    CLIENT, MUTANT = LiveOnly("theirs"), Mutant()
"""
POINTS = {
    "workloads": {"tally": "theirs:WORKLOAD"},
    "scenarios": {"tally/calm": "theirs:SCENARIO"},
    "clients": {"theirs": "theirs:CLIENT"},
    "mutants": {"wrong": "theirs:MUTANT"},
}


@pytest.fixture
def theirs(install):
    install("theirs", THEIRS, POINTS)
    return registry.scenario("tally/calm")


def trial(scenario, **changes):
    [spec, *_] = make_plan([scenario], [ClientRef("theirs", "1")], ["local:4.3.1x1"], [1]).trials
    return replace(spec, **changes)


def test_a_setting_accepts_the_values_of_any_workload(theirs):
    assert (accepted("tally.depth", 3), accepted("acks", True), accepted("acks", 1)) == (3, True, "1")
    expected = re.compile("true or false.*one of|one of.*true or false")
    with raises_code(UsageError, "setting-value-refused", name="acks", expected=expected, value="x"):
        accepted("acks", "x")


@pytest.mark.parametrize(
    ("chosen", "fits"),
    [({"tally.depth": 3}, "tally/calm"), ({"linger.ms": 7}, "produce/calm"), ({"acks": "1"}, "produce/calm")],
)
def test_a_configuration_is_left_out_for_a_workload_without_its_settings(theirs, chosen, fits):
    both = [theirs, registry.scenario("produce/calm")]
    axes = Axes(both, [ClientRef("theirs", "1")], ["local:4.3.1x1"], configurations={"one": chosen})
    assert {cell.situation for cell in axes.cells()} == {fits}
    [why] = {each.conflict for each in axes.left_out() if each.situation != fits}
    assert why.endswith(
        f"has no setting {next(iter(chosen))}, or not the value {next(iter(chosen.values()))}"
    )


@pytest.mark.parametrize(("api", "refused"), [("Metadata", False), ("ApiVersions", False), ("Produce", True)])
def test_faults_act_only_on_apis_of_the_workload(theirs, api, refused):
    fault = FaultSpec("dropped_frame", AtTime(100), 500, frames=FrameMatch(api))
    plan = Plan(1, (trial(theirs, faults=(fault,)),))
    if refused:
        asked = re.compile("Metadata")
        with raises_code(UsageError, "frames-api-never-sent", api="Produce", workload="tally", asked=asked):
            validate_plan.check(plan, Mode.LIVE)
    else:
        validate_plan.check(plan, Mode.LIVE)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"width": 1}, coded("unknown-name", what=re.compile("'tally'"), name="width")),
        ({"depth": 9}, coded("workload-param-range", name="depth", workload="tally", low=1, high=4, value=9)),
    ],
)
def test_an_unknown_or_out_of_range_parameter_is_refused(theirs, params, said):
    spec = trial(theirs)
    with raises_code(UsageError, said):
        validate_plan.check_workload(replace(spec, workload=replace(spec.workload, params=params)))
    validate_plan.check_workload(replace(spec, workload=replace(spec.workload, params={"depth": 4})))


def test_messages_use_the_terms_of_the_workload_or_general_ones_for_several(theirs):
    assert words(["tally/calm"]) == ("record", "counted")
    assert words(["produce/calm", "network/reset"]) == ("record", "acknowledged")
    assert words(["tally/calm", "produce/calm"]) == words(["of an older version"]) == ("element", "done")


def test_a_live_only_mutant_is_not_tried(theirs, capsys):
    assert call(["mutants", "wrong"]) == 5
    assert has_error(capsys.readouterr().err, "no-simulated-mutant", "wrong")
    assert call(["mutants", "wrong", "wrong_hash_seed", "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["not_tried"] == ["wrong"]
    assert "kafka-trial run -c mutant-wrong " in told.err


def test_a_mutant_of_another_client_has_no_components(theirs):
    assert registry.client("mutant-wrong").name == "mutant-wrong"
    with raises_code(UsageError, "mutant-without-components", client="theirs"):
        components_of("wrong")
    assert "theirs" in sys.modules


def test_a_client_without_mutants_is_unknown(theirs, capsys):
    assert call(["mutants", "--of", "refrence"]) == 2
    assert has_error(capsys.readouterr().err, "unknown-name", "'refrence'", "'reference'")
