"""Outcomes and thresholds in what a run leaves for other programs: JSON, Markdown, JUnit; and hostile names in each."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from harness.cli.console import console
from harness.cli.outcome_table import MAX_CELLS, tell_outcomes, tell_thresholds
from harness.cli.output import run_document
from harness.exports import markdown
from harness.exports.junit import junit
from harness.exports.markdown import MAX_ROWS, summary
from harness.exports.outcomes import document, encoded
from harness.model.rows import Availability
from harness.model.spec import Plan
from harness.outcomes.cells import table
from harness.outcomes.metrics import metrics
from harness.outcomes.thresholds import MAX_TOLD
from harness.storage.run_store import RunRecord
from harness.text.escaping import for_logs

MET, MISSED, UNKNOWN = "given_up < 50%", "given_up < 1%", "recovery < 5s"
RUN = Path("runs/run-1")
RECORD = RunRecord("run-1", "2026-03-01T10:20:30Z", Plan(7, ()), 1, {}, ["kafka-trial", "run"])
DEMANDING = replace(RECORD, thresholds=(MET, MISSED, UNKNOWN))
#: Names that do something in a terminal, on a CI server, in Markdown or in XML.
NAMES = st.text(max_size=12) | st.sampled_from(
    [
        "\x1b[31mred",
        "a\nb",
        "::error::x",
        "##[error]x",
        "a|b`c`",
        "<b>&amp;]]>",
        "[bold]x[/]",
        "\u202egnp",
        "@you",
    ]
)


@pytest.fixture(scope="session")
def trial(verdict):
    """Return a trial in which ``given_up`` of 100 records were given up."""

    def made(given_up=10, **of):
        told = Availability(offered=100, acked=100 - given_up, failed=given_up, requests=50)
        return replace(verdict(**of), availability=told)

    return made


def test_the_document_has_every_metric_row_and_threshold(trial):
    verdicts = [trial(10), trial(30, seed=2), trial(verdict="inconclusive", seed=3)]
    told = json.loads(encoded(DEMANDING, verdicts))
    assert told["metrics"].keys() == metrics().keys()
    assert told["metrics"]["given_up"] == {
        "unit": "share",
        "better": "lower",
        "meaning": metrics()["given_up"].what,
    }
    [row] = told["rows"]
    cell = {"client": "c@1", "broker": "local:4.3.1x1", "scenario": "produce/calm", "variant": ""}
    cell["guarantee"] = "idempotent"
    assert cell.items() <= row.items() and (row["trials"], row["left_out"]) == (2, 1)
    given_up = row["outcomes"]["given_up"]
    assert (given_up["value"], given_up["count"], given_up["of"]) == (0.2, 40, 200)
    assert given_up["interval"][0] < 0.2 < given_up["interval"][1]
    assert [{**each, **cell} == each for each in told["thresholds"]] == [True] * 3
    assert [(each["threshold"], each["result"], each["observed"]) for each in told["thresholds"]] == [
        (MET, "met", "20.0%"),
        (MISSED, "missed", "20.0%"),
        (UNKNOWN, "not-evaluated", ""),
    ]


def test_the_document_that_the_commands_print_has_the_same_outcomes(trial):
    verdicts = [trial(10)]
    shown = json.loads(msgspec.json.encode(run_document(RUN, DEMANDING, verdicts)))
    told = json.loads(encoded(DEMANDING, verdicts))
    assert (shown["outcomes"], shown["thresholds"]) == (told["rows"], told["thresholds"])


def test_other_thresholds_take_the_place_of_the_runs(trial):
    assert [each["threshold"] for each in document(DEMANDING, [trial()], [MET])["thresholds"]] == [MET]
    assert document(DEMANDING, [trial()], [])["thresholds"] == []


def rows_of(text, section):
    """Return the table of a section of Markdown, as cells."""
    lines = text.split(f"## {section}\n", 1)[1].split("\n## ", 1)[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


def test_markdown_has_the_missed_thresholds_first(trial):
    text = summary(DEMANDING, [trial(10)], RUN)
    assert [row[:1] + row[-1:] for row in rows_of(text, "Thresholds")[2:]] == [
        ["missed", "10.0%"],
        ["not-evaluated", "none"],
        ["met", "10.0%"],
    ]
    assert "## Thresholds" not in summary(RECORD, [trial(10)], RUN)


def test_markdown_has_the_table_of_outcomes(trial):
    found = rows_of(summary(RECORD, [trial(10), trial(30, seed=2), trial(client="d@1")], RUN), "Outcomes")
    assert found[0] == [
        *("client", "broker", "scenario", "guarantee", "trials", "offered", "acked", "given up", "unknown"),
        "req/rec",
    ]
    assert [(row[0], row[4], row[7]) for row in found[2:]] == [
        ("c@1", "2", "20.0% (10.0–30.0)"),
        ("d@1", "1", "10.0%"),
    ]


def test_long_tables_are_cut_and_say_so(trial):
    many = [trial(scenario=f"s/{number}") for number in range(MAX_ROWS + 3)]
    lines = markdown.outcomes(table(many))
    assert len([line for line in lines if line.startswith("|")]) == MAX_ROWS + 2
    assert lines[-1] == "and 3 more rows"
    text = summary(replace(RECORD, thresholds=(MISSED,)), many, RUN)
    assert len(rows_of(text, "Thresholds")) == MAX_ROWS + 2 and "and 3 more\n" in text


def thresholds_suite(record, verdicts):
    """Return the root of the XML, and its suite of thresholds."""
    root = ET.fromstring(junit(record, verdicts, RUN, {}))
    return root, [suite for suite in root if suite.get("name") == "thresholds"]


def test_junit_has_a_suite_of_thresholds_and_counts_it(trial):
    root, [suite] = thresholds_suite(DEMANDING, [trial(10)])
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "3",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
    }
    assert {key: root.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "1",
        "errors": "0",
    }
    told = [[(result.tag, result.get("type")) for result in case] for case in suite]
    assert told == [[], [("failure", "missed")], [("skipped", None)]]
    [failure] = suite.iter("failure")
    assert failure.get("message").endswith(": it is 10.0%")
    assert thresholds_suite(RECORD, [trial(10)])[1] == []


def test_a_case_has_the_outcomes_of_its_trial_as_properties(trial):
    [suite] = ET.fromstring(junit(RECORD, [trial(10)], RUN, {}))
    found = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert {key: value for key, value in found.items() if key.startswith("outcome.")} == {
        "outcome.offered": "100",
        "outcome.acknowledged": "0.9",
        "outcome.given_up": "0.1",
        "outcome.unknown": "0",
        "outcome.requests_per_record": "0.5",
    }


def told(verdicts, thresholds=()):
    """Return what the terminal shows of the outcomes and thresholds."""
    with console.capture() as said:
        tell_outcomes(verdicts)
        tell_thresholds(thresholds, verdicts)
    # The console's file applies this, and a capture does not reach the file.
    return for_logs(said.get())


def test_the_terminal_shows_cells_if_they_are_few_and_otherwise_clients(trial):
    few = [trial(scenario=f"s/{number}") for number in range(MAX_CELLS)]
    assert "s/3" in told(few) and "given up" in told(few)
    assert "s/3" not in told([*few, trial()]) and "c@1" in told([*few, trial()])
    assert told([trial(verdict="unsupported")]) == ""


def test_the_terminal_tells_what_was_missed_before_what_is_unknown_and_not_too_much(trial):
    lines = told([trial()], [UNKNOWN, MET, MISSED]).splitlines()[-3:]
    assert [line[:20] for line in lines] == [
        "threshold missed: gi",
        "threshold not-evalua",
        "thresholds: 1 of 3 m",
    ]
    many = [trial(scenario=f"s/{number}") for number in range(MAX_TOLD + 7)]
    assert told(many, [MISSED]).count("threshold missed") == MAX_TOLD
    assert "and 7 more" in told(many, [MISSED])


@given(NAMES, NAMES, NAMES)
def test_no_name_breaks_the_terminal_markdown_xml_or_json(trial, client, variant, scenario):
    verdicts = [trial(client=client, variant=variant, scenario=scenario)]
    text = told(verdicts, [MISSED, UNKNOWN])
    assert all(each.isprintable() or each == "\n" for each in text)
    assert not any(line.lstrip().startswith("::") for line in text.splitlines()) and "##[" not in text
    text = summary(DEMANDING, verdicts, RUN)
    assert [len(row) for row in rows_of(text, "Thresholds")] == [4] * 5
    empty = [client, variant, scenario].count("")
    assert [len(row) for row in rows_of(text, "Outcomes")] == [11 - empty] * 3
    _, [suite] = thresholds_suite(DEMANDING, verdicts)
    assert len([*suite]) == 3
    [row] = json.loads(encoded(DEMANDING, verdicts))["rows"]
    assert (row["client"], row["variant"], row["scenario"]) == (client, variant, scenario)


@given(st.data())
def test_any_stored_number_can_be_exported(trial, data):
    int64 = st.integers(-(2**63), 2**63 - 1)
    numbers = {name: data.draw(int64) for name in Availability.__struct_fields__ if name != "recovered"}
    counts = {name: data.draw(int64) for name in ("lost", "duplicated")}
    verdicts = [
        replace(trial(seed=seed), availability=Availability(**numbers, recovered=False), counts=counts)
        for seed in range(3)
    ]
    told(verdicts, DEMANDING.thresholds)
    assert summary(DEMANDING, verdicts, RUN) and junit(DEMANDING, verdicts, RUN, {})
    assert len(json.loads(encoded(DEMANDING, verdicts))["rows"]) == 1
