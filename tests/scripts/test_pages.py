"""The generated pages of the command line and of verdicts match the code."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from harness.cli import main
from harness.model.verdicts import EXIT_CODES, Verdict
from harness.plugins import registry

ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch):
    """Return the text of a page, by the module that generates it."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))

    def made(name: str) -> str:
        module: ModuleType = importlib.import_module(f"pages.{name}")
        return module.pages()[f"{name}.md"]

    return made


def test_every_command_has_a_section(page):
    sections = re.findall(r"^## kafka-trial (.+)$", page("commands"), re.M)
    names = {section.split()[0] for section in sections}
    assert len(sections) == len(set(sections))
    registered = {each.name for each in main.app.registered_commands} | {
        each.name for each in main.app.registered_groups
    }
    assert names == registered
    assert set(registry.names("commands")) <= names
    assert {"baseline update", "baseline prune", "baseline check", "init ci"} <= set(sections)


def test_every_option_that_help_prints_is_on_the_page(page):
    section = page("commands").partition("## kafka-trial run\n")[2].partition("\n## ")[0]
    said = CliRunner().invoke(
        main.app, ["run", "--help"], env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"}
    )
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", said.stdout)) - {"--help"}
    assert "--max-time" in options
    assert not [option for option in options if f"`{option}`" not in section]


def test_row_of_an_option_has_value_bounds_and_default(page):
    text = page("commands")
    assert r"| `-j`, `--jobs` `N\|auto` |" in text
    assert re.search(r"^\| `--repeat` `N` \| .* \(from 1 to 1000\) \| `1` \|$", text, re.M)
    assert re.search(r"^\| `--out-dir` `PATH` \| .* \| `runs` \|$", text, re.M)
    assert "kafka-trial run [OPTIONS] [SCENARIO...]" in text
    assert re.search(r"^\| `--format` `text/md/json` \|", text, re.M)


def test_every_verdict_has_its_exit_code(page):
    text = page("verdicts")
    rows = re.findall(r"^\| \S+ \| `([a-z-]+)` \| .+ \| (\d) \|$", text, re.M)
    assert {Verdict(name): int(code) for name, code in rows} == EXIT_CODES
    assert rows[0][0] == "harness-error"
    explained = re.findall(r"^\| (\d+) \| .+ \|$", text, re.M)
    assert set(map(str, EXIT_CODES.values())) <= set(explained)
