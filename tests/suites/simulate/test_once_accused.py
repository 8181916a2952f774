"""Generated trials in which a check once accused the reference client, and was wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli.main import call


@pytest.mark.parametrize(
    ("scenario", "seed"),
    [
        # A member that was frozen for longer than its session closes as soon as it continues.
        ("generated/group", 31_415_110),
        ("generated/group", 90_210_072),
        # A member that was frozen commits while earlier commits have no answer, and learns that it is no member.
        ("generated/group-new-protocol", 650_019_324),
        ("generated/group-new-protocol", 883_120_074),
    ],
)
def test_the_reference_client_is_not_accused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], scenario: str, seed: int
) -> None:
    argv = ["simulate", scenario, "--seed", str(seed), "--seeds", "1", "--out-dir", str(tmp_path)]
    capsys.readouterr()
    assert call([*argv, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"] == {"pass": 1}
