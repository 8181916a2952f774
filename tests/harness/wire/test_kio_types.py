"""No program imports Hypothesis only because kio would use it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import {module}
assert "kio.static.primitive" in sys.modules
print("hypothesis" in sys.modules)
import hypothesis
from hypothesis import strategies
"""


@pytest.mark.parametrize(
    "module",
    [
        "clients.adapters.reference.__main__",
        "harness.brokers.connection",
        "harness.cli.main",
        "harness.running.campaign",
        "harness.simulated.trial",
        "kafka_trial.api",
        "kafka_trial.reference",
    ],
)
def test_hypothesis_is_imported_only_by_its_users(module):
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(module=module)],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert (ended.stdout.strip(), ended.stderr) == ("False", "")
