"""Many small things in frames or on the disk end a trial. The next client is not affected."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from harness.cli.main import call
from harness.model.spec import ClientRef, Plan
from harness.planning import own_commands
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.storage.run_store import RunStore

pytestmark = [pytest.mark.jvm, pytest.mark.extended]

PROGRAM = Path(__file__).parents[1] / "hostile_client"


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("produces_to_many_partitions", "batches and elements of arrays in its requests and their responses"),
        ("fills_the_disk_with_many_files", "files and folders in its own folder"),
    ],
)
def test_many_small_things_end_the_trial_and_not_the_next(tmp_path, name, limit):
    hostile = own_commands.client((sys.executable, "-I", "-S", str(PROGRAM), name, str(tmp_path)), name)
    honest = ClientRef("reference", registry.client("reference").default_version)
    scenario = registry.scenario("produce/calm")
    trials = [make_plan([scenario], [ref], ["local:4.3.1x1"], [1]).trials[0] for ref in (hostile, honest)]
    (tmp_path / "plan.json").write_bytes(msgspec.json.encode(Plan(1, tuple(trials))))

    code = call(
        [
            "replay",
            str(tmp_path / "plan.json"),
            "--allow-command",
            "-j",
            "1",
            "--out-dir",
            str(tmp_path),
            "-q",
        ]
    )

    first, second = RunStore.open(tmp_path).verdicts()
    assert (first.verdict, second.verdict, code) == ("harness-error", "pass", 3)
    assert f"{limit}, got" in first.reason
    assert not (RunStore.open(tmp_path).trial_folder(first.trial) / "client").exists()
