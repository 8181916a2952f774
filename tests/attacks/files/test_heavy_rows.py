"""Rows that unpack to more than a limit are refused before they are decoded; others are judged in bounded memory."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import NamedTuple

import pytest

from harness.storage.run_store import RunStore

pytestmark = pytest.mark.long("fills memory up to its limits")

PEAK_MIB = 700
REFUSED = "its evidence cannot be read: "


class Outcome(NamedTuple):
    """The result of one attack."""

    name: str
    reason: str
    problem: str
    peak_mib: int


@pytest.fixture(scope="module")
def outcomes(evidence, tmp_path_factory) -> list[Outcome]:
    """Return the results of all attacks, which run in one separate process."""
    folder = tmp_path_factory.mktemp("heavy") / evidence.name
    shutil.copytree(evidence, folder)
    argv = [sys.executable, "-m", "tests.attacks.files.heavy_rows", str(RunStore.open(folder).folder)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return [Outcome(*json.loads(line)) for line in done.stdout.splitlines()]


def test_judging_and_packing_heavy_rows_takes_bounded_memory(outcomes):
    assert len(outcomes) == 27
    assert {each.name: each.peak_mib for each in outcomes if each.peak_mib > PEAK_MIB} == {}


def test_rows_over_the_limit_are_refused_in_one_sentence(outcomes):
    bombs = [each for each in outcomes if each.name.startswith("a bomb of")]
    assert len(bombs) == 11
    for each in bombs:
        assert each.reason.startswith(REFUSED) and each.problem.startswith(REFUSED), each
        assert "\n" not in each.reason


def test_rows_up_to_the_limit_are_read(outcomes):
    """Otherwise the memory test would pass because everything is refused."""
    edges = [each for each in outcomes if each.name.startswith("as m")]
    assert len(edges) == 12
    for each in edges:
        assert each.problem == "" and not each.reason.startswith(REFUSED), each
