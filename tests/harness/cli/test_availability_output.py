"""Availability and differences in every output: terminal, Markdown, JUnit, JSON and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.cli.commands import judge
from harness.cli.console import console, summary
from harness.cli.live_table import LiveTable
from harness.cli.main import call
from harness.cli.output import run_document
from harness.exports import junit, markdown
from harness.model.rows import Availability
from harness.model.spec import Plan
from harness.model.verdicts import GLYPHS, Verdict
from harness.outcomes.cells import table
from harness.outcomes.words import acknowledged, headings, lines, percent, share
from harness.storage.run_store import RunRecord, RunStore

RECORD = RunRecord("run-1", "2026-03-01T10:20:30Z", Plan(7, ()), 1, {}, ["kafka-trial", "run"])
RUN = Path("runs/run-1")


def of(acked, offered=2_400, **more):
    return Availability(offered=offered, acked=acked, unknown=offered - acked, **more)


@pytest.fixture
def shown(verdict):
    """Return trials of three seeds: all, half and a tenth of the records were acknowledged; the second differs."""

    def trial(seed, acked, said):
        return replace(verdict(seed=seed, verdict=said), availability=of(acked))

    return [trial(1, 2_400, "pass"), trial(2, 1_188, "differs"), trial(3, 240, "pass")]


@pytest.mark.parametrize(
    ("acked", "told"), [(2_400, "100%"), (2_399, "99.96%"), (1_188, "49.5%"), (2_184, "91.0%"), (0, "0%")]
)
def test_only_all_records_are_100_percent(acked, told):
    assert share(of(acked)) == told


@given(st.lists(st.tuples(st.integers(0, 1_000), st.integers(1_000, 2_000)), min_size=1, max_size=9))
def test_the_share_of_a_cell_is_that_of_the_outcome_table(verdict, amounts):
    trials = [replace(verdict(seed=seed), availability=of(*amount)) for seed, amount in enumerate(amounts)]
    [row] = table(trials)
    told = acknowledged(trials)
    assert told == dict(zip(headings([row]), lines([row])[0], strict=True))["acked"]
    acked, offered = (sum(each) for each in zip(*amounts, strict=True))
    assert told.partition(" ")[0] == percent(acked / offered)


def test_a_trial_that_does_not_count_has_no_part_in_the_share(verdict):
    whole = replace(verdict(seed=1), availability=of(2_400))
    disturbed = replace(verdict(seed=2, verdict="inconclusive"), availability=of(0))
    assert acknowledged([whole, disturbed]) == "100%"
    assert acknowledged([disturbed]) == acknowledged([]) == share(Availability()) == ""


def test_the_summary_shows_verdicts_and_availability(shown):
    with console.capture() as said:
        summary(shown)
    assert "≠ differs 1, ✔ pass 2 · 53.2% (10.0–100)" in said.get()
    assert "all: ≠ differs 1, ✔ pass 2 · 53.2% (10.0–100) of records acknowledged" in said.get()
    with console.capture() as said:
        summary(shown[:1])
    assert "✔ pass 100%" in said.get()


def test_the_live_line_shows_a_share_below_100_percent(shown, capsys):
    with LiveTable(Plan(1, ()), [], 1, quiet=False) as table, console.capture() as said:
        for each in shown[:2]:
            table.ended(each)
    first, second, *_ = said.get().splitlines()
    assert "acknowledged" not in first
    assert "seed 2, 49.5% acknowledged" in second


def test_markdown_has_a_section_for_differences_and_one_row_per_client(verdict):
    trial = replace(verdict("oversized-batch-not-split", verdict="differs"), availability=of(2_184))
    text = markdown.summary(RECORD, [trial], RUN)
    assert "## Differences" in text and "## Findings" not in text
    assert "| c@1 | ≠ differs 91.0% |" in text
    assert "| local:4.3.1x1 | produce/calm | idempotent | ≠ differs 91.0% |" in text


def test_junit_reports_a_difference_without_a_failure(shown):
    root = ET.fromstring(junit.junit(RECORD, shown, RUN, {}))
    assert (root.get("failures"), root.get("errors")) == ("0", "0")
    alike, differs, _ = root
    properties = {each.get("name"): each.get("value") for each in differs.iter("property")}
    assert properties["verdict"] == "differs" and properties["differs"] == "true"
    assert properties["availability"] == "49.5%" and properties["outcome.acknowledged"] == "0.495"
    [output] = differs.iter("system-out")
    assert output.text.startswith("differs: ")
    assert not list(differs.iter("failure")) and not list(alike.iter("system-out"))


def test_json_has_a_row_for_each_cell(shown):
    document = json.loads(msgspec.json.encode(run_document(RUN, RECORD, shown)))
    [row] = document["outcomes"]
    assert (row["client"], row["guarantee"], row["trials"]) == ("c@1", "idempotent", 3)
    acknowledged = row["outcomes"]["acknowledged"]
    assert [acknowledged[key] for key in ("median", "low", "high")] == [0.495, 0.1, 1.0]
    assert document["counts"] == {"differs": 1, "pass": 2}


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--strict",), 1)])
def test_a_difference_fails_only_with_strict(tmp_path, monkeypatch, shown, capsys, options, code):
    RunStore.create(tmp_path, RECORD)
    # Only the output is tested: the verdicts come from the fixture, and there is no evidence to judge or to export.
    monkeypatch.setattr(judge, "rejudge", lambda store: shown)
    monkeypatch.setattr(judge.exports, "write", lambda store, verdicts: None)
    assert call(["judge", str(tmp_path), "--json", *options]) == code
    assert json.loads(capsys.readouterr().out)["counts"] == {"differs": 1, "pass": 2}


def test_every_verdict_has_its_own_glyph():
    assert set(GLYPHS) == set(Verdict)
    assert len({glyph for glyph, _ in GLYPHS.values()}) == len(GLYPHS)
