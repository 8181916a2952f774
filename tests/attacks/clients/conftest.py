"""Runs of a hostile program and, after it on the same lane, of an honest client."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from harness.cli.main import call
from harness.model.spec import ClientRef, Plan
from harness.planning import own_commands
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.storage.run_store import RunStore

PROGRAM = Path(__file__).parents[1] / "hostile_client"


@pytest.fixture
def before_an_honest_one(tmp_path: Path) -> Callable[[str], tuple[int, RunStore]]:
    """Return a function that runs a trial of a hostile program and then one of the reference client.

    It returns the exit code and the run.
    """

    def run(name: str) -> tuple[int, RunStore]:
        hostile = own_commands.client((sys.executable, "-I", "-S", str(PROGRAM), name, str(tmp_path)), name)
        honest = ClientRef("reference", registry.client("reference").default_version)
        calm = registry.scenario("produce/calm")
        trials = [make_plan([calm], [ref], ["local:4.3.1x1"], [1]).trials[0] for ref in (hostile, honest)]
        plan = tmp_path / "plan.json"
        plan.write_bytes(msgspec.json.encode(Plan(1, tuple(trials))))
        options = ["--allow-command", "-j", "1", "--out-dir", str(tmp_path), "-q"]
        return call(["replay", str(plan), *options]), RunStore.open(tmp_path)

    return run
