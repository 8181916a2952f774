"""``replay`` refuses an invalid plan with one error and exit code 2, and leaves no files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.cli.main import call
from harness.model.mode import Mode
from harness.model.spec import AtTime, ClientRef, FaultSpec, FrameMatch, Plan, TrialSpec, Workload
from harness.model.verdicts import Guarantee
from harness.planning import validate_plan
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.workloads.produce.profile import producer_config
from harness.workloads.produce.settings import NEEDED
from testkit.codes import has_error

CLIENT = ClientRef("reference", registry.client("reference").default_version)
LOST = FaultSpec("dropped_frame", AtTime(0), 4_000, frames=FrameMatch("Produce"))
CONFIG = producer_config(Guarantee.IDEMPOTENT, {})
SPEC = TrialSpec(
    "t",
    CLIENT,
    "scripted:4.3.1x1",
    "generated/frames",
    Guarantee.IDEMPOTENT,
    1,
    Workload(records=100, records_per_command=20, interval_ms=1_000, partitions=2),
    (LOST,),
    CONFIG,
)


def replay(tmp_path: Path, *trials: dict[str, Any]) -> int:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"seed": 1, "trials": trials}))
    return call(["replay", str(plan), "--out-dir", str(tmp_path / "in" / "runs")])


def changed(**changes: Any) -> dict[str, Any]:
    """Return the plain trial as JSON with these changes, of which some may be fields of its workload."""
    found: dict[str, Any] = msgspec.to_builtins(SPEC)
    for name, value in changes.items():
        (found["workload"] if name in found["workload"] else found)[name] = value
    return found


def without(setting: str) -> dict[str, Any]:
    return changed(config={name: value for name, value in CONFIG.items() if name != setting})


def test_a_plain_trial_is_replayed(tmp_path: Path) -> None:
    assert replay(tmp_path, changed(), changed(trial="again")) == 0


def test_a_trial_needs_only_the_required_settings(tmp_path: Path) -> None:
    config = {name: CONFIG[name] for name in (*NEEDED, "enable.idempotence", "acks")}
    assert replay(tmp_path, changed(config=config)) == 0


@pytest.mark.parametrize(
    ("trial", "said"),
    [
        (changed(trial="../../../escaped"), "'../../../escaped' cannot be the name of a trial"),
        (changed(trial=".."), "'..' cannot be the name of a trial"),
        (changed(trial=""), "'' cannot be the name of a trial"),
        (changed(records=-5), "records of the workload of trial 't' must be 1 to 10000000, not -5"),
        (changed(records=0), "records of the workload of trial 't' must be 1 to"),
        (
            changed(records_per_command=0),
            "records_per_command of the workload of trial 't' must be 1 to 1000000, not 0",
        ),
        (changed(interval_ms=-1), "interval_ms of the workload of trial 't' must be 0 to 3600000, not -1"),
        (changed(partitions=0), "partitions of the workload of trial 't' must be 1 to 10000, not 0"),
        (changed(keys=-1), "keys of the workload of trial 't' must be 0 to 1000000, not -1"),
        (changed(value_bytes=-1), "value_bytes of the workload of trial 't' must be 0 to 16777216, not -1"),
        (
            changed(interval_ms=3_600_000),
            "the load of trial 't' would last 18000000 ms; the limit is 3600000 ms",
        ),
        (changed(config={}), "the config of trial 't' lacks delivery.timeout.ms; every plan needs"),
        *((without(setting), f"the config of trial 't' lacks {setting}") for setting in NEEDED),
        (
            changed(config=CONFIG | {"linger.ms": "soon"}),
            "linger.ms in the config of trial 't' must be a whole",
        ),
        (changed(config=CONFIG | {"linger.ms": -1}), "must be a whole number from 0 to 2147483647, not -1"),
        (
            changed(config=CONFIG | {"linger.ms": True}),
            "must be a whole number from 0 to 2147483647, not True",
        ),
        (
            changed(config=CONFIG | {"delivery.timeout.ms": 2**40}),
            "must be a whole number from 0 to 2147483647",
        ),
        (changed(faults=msgspec.to_builtins([LOST, LOST])), "the same fault 'dropped_frame' twice"),
        (changed(scenario="generated/framez"), "did you mean 'generated/frames'"),
        (changed(client={"name": "nobody", "version": "1"}), "unknown client 'nobody'"),
        (changed(client={"name": "confluent-kafka", "version": "1"}), "cannot run in simulated mode"),
        (changed(broker="scripted:9.9.9x1"), "unknown version of the scripted brokers '9.9.9'"),
    ],
)
def test_an_invalid_plan_is_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], trial: dict[str, Any], said: str
) -> None:
    assert replay(tmp_path, trial) == 2
    told = capsys.readouterr().err.replace("\n", " ")
    assert said in told and "defect" not in told
    assert [path.name for path in tmp_path.rglob("*")] == ["plan.json"]


def test_each_trial_of_a_plan_has_its_own_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay(tmp_path, changed(), changed()) == 2
    assert has_error(capsys.readouterr().err, "trial-named-twice", "'t'")


@pytest.mark.parametrize("scenario", registry.table("scenarios").values(), ids=lambda scenario: scenario.name)
def test_every_schedule_of_a_scenario_is_accepted_in_its_modes_and_on_every_cluster(scenario: Any) -> None:
    for mode in scenario.modes:
        kind = "local" if mode == Mode.LIVE else "scripted"
        brokers = [f"{kind}:4.3.1x{nodes}" for nodes in (1, 2, 3)]
        validate_plan.check(make_plan([scenario], [CLIENT], brokers, range(1, 21)), mode)


def test_a_client_with_any_name_gets_a_valid_trial_name() -> None:
    own = ClientRef("my adapter: ä", "own", ("./my adapter: ä",))
    plan = make_plan([registry.scenario("produce/calm")], [own], ["local:4.3.1x1"], [1])
    validate_plan.check(plan, Mode.LIVE)
    assert isinstance(plan, Plan) and "my_adapter___" in plan.trials[0].trial
