"""Every output names the configuration of a trial: terminal, summary, JUnit, findings and known failures."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from harness.baseline import KnownFailure, apply
from harness.baseline.upkeep import missing
from harness.cli.console import console, matrix, summary
from harness.cli.live_table import LiveTable
from harness.exports import jsonl, markdown, outcomes
from harness.exports.junit import junit
from harness.judging.fingerprint import causes, line
from harness.model.rows import Availability
from harness.model.spec import Plan
from harness.storage.run_store import RunRecord

RECORD = RunRecord(
    "run-1", "2026-03-01T10:20:30Z", Plan(7, ()), 1, {}, ["kafka-trial"], thresholds=("lost < 1%",)
)
RUN = Path("runs/run-1")
VARIANT = "linger.ms=20"


@pytest.fixture
def trial(verdict):
    """Return a failed trial with a configuration."""
    told = Availability(offered=10, acked=9, unknown=1)
    return replace(verdict("lost"), variant=VARIANT, availability=told)


def in_progress(trial):
    with LiveTable(Plan(1, ()), [], 1, quiet=False) as table, console.capture() as said:
        table.ended(trial)
    return said.get().splitlines()[0]


def in_terminal(trial):
    with console.capture() as said:
        summary([trial], RUN)
    return said.get()


def in_matrix(trial):
    columns = {str(column.header): list(column.cells) for column in matrix([trial]).columns}
    return str(columns["configuration"][0])


def in_junit(trial):
    root = ET.fromstring(junit(RECORD, [trial], RUN, {}))
    assert {"name": "variant", "value": VARIANT} in [each.attrib for each in root.iter("property")]
    [name] = [case.get("name") for case in root.iter("testcase") if case.get("classname") != "thresholds"]
    return name


def in_outcomes(trial):
    document = json.loads(outcomes.encoded(RECORD, [trial]))
    return document["rows"][0]["variant"] + document["thresholds"][0]["variant"]


def section(trial, name):
    return markdown.summary(RECORD, [trial], RUN).split(f"## {name}\n")[1].split("\n## ")[0]


OUTPUTS = {
    "progress": in_progress,
    "terminal": in_terminal,
    "matrix": in_matrix,
    "cause": lambda trial: line(causes([trial])[0]),
    "junit": in_junit,
    "outcomes": in_outcomes,
    "results": lambda trial: json.loads(jsonl.results([trial]))["variant"],
    "findings": lambda trial: json.loads(jsonl.findings(RECORD, [trial], RUN))["findings"][0]["variants"][0],
    **{
        f"summary: {name}": lambda trial, name=name: section(trial, name)
        for name in ("Findings", "Thresholds", "Outcomes", "Matrix")
    },
}


@pytest.mark.parametrize("output", OUTPUTS)
def test_each_output_names_the_configuration(trial, output):
    assert VARIANT in OUTPUTS[output](trial)
    assert "configuration" not in str(matrix([replace(trial, variant="")]).columns)


@pytest.mark.parametrize(
    ("pattern", "is_known"),
    [
        (None, True),
        (VARIANT, True),
        ("linger.*", True),
        ("", False),
        ("linger.ms=2", False),
        ("retries=*", False),
    ],
)
def test_a_known_failure_can_be_that_of_a_configuration(trial, pattern, is_known):
    entry = KnownFailure(client="c@1", reason="it says so", anomaly="lost", variant=pattern)
    assert (apply(trial, [entry]).verdict == "expected-fail") == is_known


def test_an_added_entry_names_the_configuration_if_only_it_fails(trial, verdict):
    plain = replace(verdict(), seed=trial.seed)
    [entry] = missing([trial, plain], [], "found")
    assert entry.variant == VARIANT
    assert apply(trial, [entry]).verdict == "expected-fail" and apply(plain, [entry]).verdict == "pass"
