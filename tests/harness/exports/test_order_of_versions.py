"""Every output lists 2.3.0 before 2.16.1."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.cli.console import matrix
from harness.exports import jsonl, outcomes
from harness.exports.junit import junit
from harness.exports.markdown import summary
from harness.judging.fingerprint import causes
from harness.model.rows import Availability
from harness.model.spec import Plan
from harness.outcomes.cells import table
from harness.outcomes.pairs import Paired, changes
from harness.outcomes.thresholds import evaluated
from harness.storage.run_store import RunRecord

OLD, NEW = "c@2.3.0", "c@2.16.1"
THRESHOLDS = ("given_up < 1%", "lost < 1%")
RECORD = RunRecord("run-1", "", Plan(7, ()), 1, {}, ["kafka-trial"], thresholds=THRESHOLDS)
RUN = Path("runs/run-1")


@pytest.fixture
def trials(verdict):
    """Return one failed trial of each version that also gave up records, the newer version first."""
    told = Availability(offered=100, acked=50, failed=50)
    return [
        replace(verdict("lost", client=client), availability=told, not_set={"linger.ms": "no"})
        for client in (NEW, OLD)
    ]


def ordered(text: str, *places: str) -> None:
    """Assert that the older version comes first in the text after each of these places."""
    for place in places:
        rest = text[text.index(place) :]
        assert -1 < rest.find(OLD) < rest.find(NEW), (place, rest)


def test_tables_and_causes_have_the_older_version_first(trials):
    assert [row.cell.client for row in table(trials)] == [OLD, NEW]
    assert [cause.client for cause in causes(trials)] == [OLD, NEW]
    assert [str(column.header).split() for column in matrix(trials).columns][2:] == [
        ["c", "@2.3.0"],
        ["c", "@2.16.1"],
    ]


def test_thresholds_and_changes_have_the_older_version_first(trials):
    assert [each.cell.client for each in evaluated(THRESHOLDS[:1], trials)] == [OLD, NEW]
    cells = [row.cell for row in reversed(table(trials))]
    found = changes([Paired(cell, trials[:1], trials[1:]) for cell in cells])
    assert list(dict.fromkeys(each.cell.client for each in found)) == [OLD, NEW]


def test_files_of_a_run_have_the_older_version_first(trials):
    places = ("## Findings", "## Thresholds", "## Clients", "## Outcomes", "## Matrix")
    ordered(summary(RECORD, trials, RUN), *places, "## Settings that were not applied")
    ordered(jsonl.findings(RECORD, trials, RUN).decode(), '"findings"')
    ordered(outcomes.encoded(RECORD, trials).decode(), '"rows"', '"thresholds"')
    ordered(junit(RECORD, trials, RUN, {}).decode(), 'name="thresholds"')
