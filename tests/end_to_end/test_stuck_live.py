"""A client that stalls after a reset is reported as stuck, and the true client in the same trial is not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.jvm

STALLING = Path(__file__).with_name("stalling_adapter.py")


def test_stalled_program_is_stuck_without_delivery_timeout(line):
    told = line(
        "run",
        "--json",
        "network/reset",
        "-g",
        "at-least-once",
        "--seed",
        "7",
        "--",
        sys.executable,
        str(STALLING),
        code=1,
    )
    [verdict] = json.loads(told.stdout)["verdicts"]
    assert (verdict["verdict"], verdict["code"]) == ("fail", "stuck"), verdict["reason"]
    assert 0 < verdict["availability"]["acked"] < verdict["availability"]["offered"]
    assert verdict["params"]["idle_ms"] > verdict["params"]["bound_ms"] == 40_000


def test_true_client_is_not_stuck(line):
    verdicts = line.json("run", "network/reset", "-c", "reference", "--seed", "7")["verdicts"]
    assert {verdict["verdict"] for verdict in verdicts} == {"pass"}
