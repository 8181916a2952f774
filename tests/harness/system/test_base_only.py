"""The features that work in an environment without extras, and the modules that need an extra."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BASE_ONLY = Path(__file__).with_name("base_only.py")
#: The modules and packages that need an extra. All others can be imported without any.
NEED_AN_EXTRA = {
    "harness.capture.layers",
    "harness.storage.arrow_schemas",
    "harness.storage.parquet_writer",
    "reports.earlier",
    "reports.pages.overview",
    "reports.pages.rendering",
    "reports.pages.site",
    "reports.pages.writing",
    "reports.second",
    "reports.spark",
    "suites.properties.delivery",
    "suites.properties.mutants",
    "suites.properties.mutation_testing",
    "suites.properties.property",
    "suites.properties.state_transitions",
    "suites.properties.test_properties",
    "suites.properties.timeout_expiry",
    "suites.properties.walks",
    "suites.requirements.coverage",
}

pytestmark = pytest.mark.long("imports every module in a process of its own")


def base_only(*argv: str) -> subprocess.CompletedProcess[str]:
    """Run base_only.py with these arguments."""
    words = [sys.executable, "-P", str(BASE_ONLY), *argv]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_only_the_listed_modules_need_an_extra():
    lacking = base_only("modules").stdout.splitlines()
    found = {
        module: next((each for each in NEED_AN_EXTRA if f"{module}.".startswith(f"{each}.")), None)
        for module in (line.partition(":")[0] for line in lacking)
    }
    assert [module for module, known in found.items() if known is None] == []
    assert set(found.values()) == NEED_AN_EXTRA


def test_a_simulated_trial_needs_no_extra(tmp_path):
    ended = base_only("simulate", "--trials", "2", "--out-dir", str(tmp_path))
    assert (ended.returncode, "2 pass" in ended.stderr) == (0, True), ended.stderr


@pytest.mark.parametrize(
    ("argv", "extra"),
    [(["report", "nowhere"], "report"), (["mutants", "wrong_hash_seed", "--json"], "properties")],
)
def test_a_command_without_its_extra_is_one_error(argv, extra):
    ended = base_only(*argv)
    assert ended.returncode == 3
    assert ended.stdout == ""
    error, hint = ended.stderr.splitlines()
    assert error.startswith(f"error[extra-not-usable]: {argv[0]} ") and repr(extra) in error
    assert ": pip install " in error
    assert hint == "hint: kafka-trial doctor shows the extras"


def test_commands_are_listed_without_their_extra():
    ended = base_only("--help")
    assert ended.returncode == 0
    assert " report " in ended.stdout and " mutants " in ended.stdout
    assert base_only("report", "--help").returncode == 0
