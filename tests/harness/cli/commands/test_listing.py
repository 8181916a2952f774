"""``list`` on a terminal and in a pipe: names are whole, and the lines fit."""

from __future__ import annotations

import json

import pytest

from harness.cli.commands import listing
from harness.cli.main import call
from testkit.codes import has_error

KINDS = tuple(listing.COLUMNS)
NAME = "a/name-that-is-longer-than-half-of-a-narrow-terminal"
ROWS = [
    {"name": "short", "summary": "word " * 60, "guarantees": ["one", "two"]},
    {"name": NAME, "summary": "One sentence.", "guarantees": []},
]


@pytest.mark.parametrize("what", KINDS)
def test_a_pipe_gets_one_line_per_entry_with_whole_names(capsys, what):
    assert call(["list", what]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert call(["list", what, "--json"]) == 0
    names = [row["name"] for row in json.loads(capsys.readouterr().out)]
    assert [line.split("\t")[0] for line in lines] == names


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 200])
def test_lines_fit_the_terminal_and_names_are_whole(columns):
    lines = list(listing.for_terminal(ROWS, columns))
    assert all(len(line) <= columns or line == NAME for line in lines)
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["short", NAME]
    assert sum(line.count("word") for line in lines) == 60
    assert "guarantees: one, two" in " ".join(" ".join(lines).split())


def test_a_glob_selects_entries(capsys):
    assert call(["list", "scenarios", "network/*", "produce/calm"]) == 0
    names = [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]
    assert "produce/calm" in names and "network/reset" in names
    assert all(name.startswith("network/") or name == "produce/calm" for name in names)


def test_a_pattern_without_a_match_is_an_error(capsys):
    assert call(["list", "scenarios", "netwrok/reset"]) == 2
    assert has_error(capsys.readouterr().err, "unknown-name", "'network/reset'")
