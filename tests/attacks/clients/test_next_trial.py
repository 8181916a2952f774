"""Connections of a hostile client are not attributed to the next client on the same lane."""

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

pytestmark = pytest.mark.jvm

#: More connections than a producer opens without faults, and fewer than any attack opens.
MAX_CONNECTIONS = 20
PROGRAM = Path(__file__).parents[1] / "hostile_client"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("opens_connections", "connections at a time"),
        ("leaves_requests", ""),
        ("goes_around", "'garbage'"),
        ("goes_around_as_the_witness", "a connection bypassed the lane, to broker 1"),
    ],
)
def test_connections_of_hostile_client_do_not_affect_next_trial(tmp_path, name, reason):
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
    assert reason in first.reason and (code == 3) == (first.verdict == "harness-error") == bool(reason)
    assert second.verdict == "pass"
    frames = RunStore.open(tmp_path).read_evidence(second.trial).frames
    assert len({frame.conn for frame in frames}) < MAX_CONNECTIONS
