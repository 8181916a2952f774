"""The build hook of the wheel: which imports it moves below ``kafka_trial``, and what it refuses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = str(ROOT / "scripts")
sys.path.insert(0, SCRIPTS)
import wheel_build  # noqa: E402

sys.path.remove(SCRIPTS)

MODULES = {"harness", "harness.api", "clients", "faults"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from harness.api import Check\n", "from kafka_trial.harness.api import Check\n"),
        ("from harness import api\n", "from kafka_trial.harness import api\n"),
        ("import harness\n", "from kafka_trial import harness\n"),
        ("import harness as kernel\n", "from kafka_trial import harness as kernel\n"),
        ("import harness.api as api\n", "import kafka_trial.harness.api as api\n"),
        ("def f():\n    from clients import x\n", "def f():\n    from kafka_trial.clients import x\n"),
        ("from faults import (\n    a,\n)\n", "from kafka_trial.faults import (\n    a,\n)\n"),
        ("é = 1; from faults import a\n", "é = 1; from kafka_trial.faults import a\n"),
        ("from .harness import x\n", "from .harness import x\n"),
        ("from harness_of import x\nimport clientsx\n", "from harness_of import x\nimport clientsx\n"),
        ('FAULTS = "faults.jsonl"\n', 'FAULTS = "faults.jsonl"\n'),
        ('GROUP = "clients"\n', 'GROUP = "clients"\n'),
    ],
)
def test_imports_of_our_packages_move_and_nothing_else_changes(old, new):
    assert wheel_build.moved(old, "a.py", MODULES) == new


@pytest.mark.parametrize(
    "source",
    [
        "import harness.api\n",
        "import os, harness\n",
        'X = "harness.api"\n',
        'X = f"harness.api.{Y}"\n',
        "from  harness import x\n",
    ],
)
def test_what_cannot_be_moved_ends_the_build(source):
    with pytest.raises(wheel_build.NotMovable, match=r"a\.py:1:"):
        wheel_build.moved(source, "a.py", MODULES)


def test_every_module_of_ours_can_be_moved():
    files = [
        path.relative_to(ROOT)
        for name in (wheel_build.ROOT, *wheel_build.OURS)
        for path in (ROOT / name).rglob("*.py")
    ]
    modules = {wheel_build.module_name(str(path)) for path in files}
    assert {"harness.cli.main", "clients.adapters.reference", "kafka_trial.api"} <= modules
    for path in files:
        source = (ROOT / path).read_text()
        moved = wheel_build.moved(source, str(path), modules)
        assert len(moved.splitlines()) == len(source.splitlines()), path


def test_entry_points_of_ours_move():
    points = {"init": "clients.skeletons.command:register", "other": "elsewhere:register"}
    moved = {"init": "kafka_trial.clients.skeletons.command:register", "other": "elsewhere:register"}
    assert wheel_build.moved_entry_points(points) == moved
