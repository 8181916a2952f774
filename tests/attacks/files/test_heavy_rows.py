"""Rows that unpack to more than a machine has: refused before anything is made of them, or judged in little memory."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import NamedTuple

import pytest

from harness.storage.run_store import RunStore

pytestmark = pytest.mark.long("fills memory up to its limits")

MOST_MIB = 700
REFUSED = "its evidence cannot be read: "


class Told(NamedTuple):
    """What became of one attack."""

    name: str
    reason: str
    spoilt: str
    most_mib: int


@pytest.fixture(scope="module")
def told(evidence, tmp_path_factory) -> list[Told]:
    """All attacks, one after the other in a process whose memory they have to themselves."""
    folder = tmp_path_factory.mktemp("heavy") / evidence.name
    shutil.copytree(evidence, folder)
    argv = [sys.executable, "-m", "tests.attacks.files.heavy_rows", str(RunStore.open(folder).folder)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return [Told(*json.loads(line)) for line in done.stdout.splitlines()]


def test_judging_and_packing_it_takes_little_memory(told):
    assert len(told) == 27
    assert {each.name: each.most_mib for each in told if each.most_mib > MOST_MIB} == {}


def test_what_is_too_much_is_refused_in_one_sentence(told):
    bombs = [each for each in told if each.name.startswith("a bomb of")]
    assert len(bombs) == 11
    for each in bombs:
        assert each.reason.startswith(REFUSED) and each.spoilt.startswith(REFUSED), each
        assert "\n" not in each.reason


def test_what_may_be_is_read(told):
    """Else the memory that it takes would show nothing."""
    edges = [each for each in told if each.name.startswith("as m")]
    assert len(edges) == 12
    for each in edges:
        assert each.spoilt == "" and not each.reason.startswith(REFUSED), each
