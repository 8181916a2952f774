"""The table of behaviours is complete and correct: ids, levels, places in the code, and the generated page."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from clients.seeding.table import mutants
from harness.model.verdicts import Level
from harness.plugins import registry
from suites.properties.property import properties
from suites.requirements import CLIENT_GROUPS, CONSUMER_GROUPS, GROUPS, behaviours, coverage
from suites.requirements.coverage import Covered, Judged, Totals, checks_by_id, properties_by_id, totals

pytestmark = pytest.mark.long("reads all code, and tries properties")

ROOT = Path(__file__).parents[3]
ROWS = [behaviour for group in GROUPS for behaviour in group.behaviours]
COUNTS = {
    "NET-CON": 16,
    "NET-INF": 10,
    "NET-TMO": 6,
    "MET": 16,
    "PRD-ISP": 9,
    "PRD-ACC": 13,
    "PRD-SND": 16,
    "PRD-SPL": 6,
    "PRD-EXP": 7,
    "PRD-FIN": 4,
    "PRD-IDM": 16,
    "PRD-TXN": 20,
    "PRD-CLS": 7,
    "CLI-CFG": 9,
    "CSM-API": 6,
    "CSM-CNC": 7,
    "CSM-GRP": 14,
    "CSM-NGP": 9,
    "CSM-OFC": 7,
    "CSM-ACM": 4,
    "CSM-FET": 11,
    "CSM-WKP": 2,
    "E2E-DEL": 7,
    "E2E-LIV": 1,
}


@pytest.fixture
def docs(monkeypatch):
    """Return scripts/docs.py as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("docs")


@pytest.fixture(scope="module")
def pages():
    """Return all generated pages by name. They are made once, because that takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        return importlib.import_module("docs").pages()


def defined(path: Path) -> set[str]:
    """Return the names that a module defines: functions, classes, constants, and ``Class.member``."""

    def named(body: list[ast.stmt], prefix: str) -> set[str]:
        found = set()
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                found |= named(node.body, f"{prefix}{node.name}.")
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            found |= {prefix + target.id for target in targets if isinstance(target, ast.Name)}
        return found

    return named(ast.parse(path.read_text()).body, "")


def test_ids_are_unique_and_ordered():
    expected = [f"{prefix}-{number:02}" for prefix, count in COUNTS.items() for number in range(1, count + 1)]
    assert [row.id for row in ROWS] == expected
    assert sum(len(group.behaviours) for group in CLIENT_GROUPS) == 155
    assert sum(len(group.behaviours) for group in CONSUMER_GROUPS) == 60


def test_every_row_is_one_sentence_with_a_source():
    for row in ROWS:
        assert re.fullmatch(r"\S.*\S\.", row.statement), row.id
        assert len(row.statement) <= 220, row.id
        assert row.source, row.id
    assert len({row.statement for row in ROWS}) == len(ROWS)


def test_every_place_exists():
    missing = []
    for row in ROWS:
        for place in row.implemented:
            path, _, name = place.partition(": ")
            if not (ROOT / path).is_file() or name not in defined(ROOT / path):
                missing.append(f"{row.id}: {place}")
    assert not missing


def test_implemented_rows_have_a_place_and_others_a_reason():
    assert not [row.id for row in ROWS if not (row.implemented or row.not_yet)]


def test_judged_behaviour_is_not_listed_as_missing():
    for _, rows in coverage.coverage().values():
        for row in rows:
            assert (row.judged is Judged.NOT_YET) is bool(row.behaviour.not_yet), row.behaviour.id
            assert not (row.behaviour.not_yet and row.behaviour.not_yet_in_part), row.behaviour.id


def test_properties_and_checks_name_known_ids():
    known = behaviours()
    assert not {
        (prop.id, id) for prop in properties().values() for id in prop.requirements if id not in known
    }
    assert not set(checks_by_id()) - set(known)


def test_levels_equal_those_of_the_checks():
    stated = {
        (requirement.id, requirement.level)
        for check in registry.checks().values()
        for requirement in check.requirements
    }
    assert stated
    assert stated == {(id, behaviours()[id].level) for id, _ in stated}


def test_scenarios_exercise_known_ids():
    named = {id for scenario in registry.table("scenarios").values() for id in scenario.exercises}
    assert named and not named - set(behaviours())


def test_mutant_counts_only_for_its_own_requirements():
    for _, rows in coverage.coverage().values():
        for row in rows:
            own = {name for name, mutant in mutants().items() if row.behaviour.id in mutant.breaks}
            assert set(row.mutants) == own
            assert row.properties == properties_by_id().get(row.behaviour.id, ())


def test_trace_check_judges_only_the_reference_client():
    for _, rows in coverage.coverage().values():
        for row in rows:
            assert not [name for name in row.checks if "trace" in registry.checks()[name].requires]
            assert all("trace" in registry.checks()[name].requires for name in row.trace_checks)
            if row.judged is Judged.ANY_CLIENT:
                assert row.checks


def test_every_judged_must_has_its_own_mutant():
    rows = [row for _, covered in coverage.coverage().values() for row in covered]
    musts = [row for row in rows if row.behaviour.level is Level.MUST and row.judged is not Judged.NOT_YET]
    assert musts and [row.behaviour.id for row in musts if not row.mutants] == []


def test_every_judged_behaviour_has_its_own_mutant():
    rows = [row for _, covered in coverage.coverage().values() for row in covered]
    assert [row.behaviour.id for row in rows if row.judged is not Judged.NOT_YET and not row.mutants] == []


def test_tally_counts_each_behaviour_once():
    must, should = (next(row for row in ROWS if row.level is level) for level in (Level.MUST, Level.SHOULD))
    rows = [
        Covered(must, ("check",), ("trace",), ("s/law",), ("mutant",)),
        Covered(must, (), ("trace",), (), ()),
        Covered(should, (), (), ("s/law",), ("mutant",)),
        Covered(should, (), (), (), ()),
        Covered(replace(should, not_yet="it is not built"), ("check",), (), (), ("mutant",)),
    ]
    assert [row.judged for row in rows] == [
        Judged.ANY_CLIENT,
        Judged.REFERENCE,
        Judged.REFERENCE,
        Judged.NOT_YET,
        Judged.NOT_YET,
    ]
    assert totals(rows) == Totals(total=5, any_client=1, reference=2, not_yet=2, with_mutant=2)


def test_pages_match_the_table(pages):
    sections = {
        id: section.strip()
        for name, text in pages.items()
        if name.startswith("requirements/")
        for id, section in re.findall(r"^## ([A-Z0-9]+(?:-[A-Z0-9]+)+)\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    }
    assert list(sections) == [row.id for row in ROWS]
    for _, rows in coverage.coverage().values():
        for row in rows:
            section, behaviour = sections[row.behaviour.id], row.behaviour
            judged = "not judged yet" if row.judged is Judged.NOT_YET else f"judged on {row.judged}"
            assert re.match(rf"\*\*{behaviour.level}\*\*(?: \(inside\))?, {judged}\. ", section)
            assert behaviour.statement in section and f"- Source: {behaviour.source}\n" in f"{section}\n"
            assert all(f"[`{name}`]" in section for name in (*row.mutants, *row.checks))


def test_index_counts_match_the_table(pages):
    index = pages["requirements/README.md"]
    rows = [row for group in CLIENT_GROUPS for row in coverage.coverage()[group.prefix][1]]
    sums = totals(rows)
    counts = (sums.total, sums.any_client, sums.reference, sums.not_yet, sums.with_mutant)
    assert f"| all | {' | '.join(map(str, counts))} |" in index
    areas = re.findall(r"^\| \[([^\]]+)\]\(([^)]+)\) \| ([A-Z0-9-]+) \| (\d+) \|", index, re.M)
    assert [(title, prefix, int(count)) for title, _, prefix, count in areas] == [
        (group.title, group.prefix, len(group.behaviours)) for group in GROUPS
    ]
    assert all(f"requirements/{page}" in pages for _, page, *_ in areas)


def test_page_of_an_area_lists_only_that_area(pages):
    """It has the behaviours of one area, without a table of all areas."""
    for name, text in pages.items():
        if name.startswith("requirements/") and not name.endswith("README.md"):
            assert text.count("\n") < 200 and "\n|" not in text, name


def test_every_machine_has_a_page_and_an_index_entry(pages):
    """Each page has every legal transition with its source, and every difference from Java with its reason."""
    from suites.oracle import BROKER_MACHINES, CONSUMER_MACHINES, MACHINES

    index = pages["machines/README.md"]
    for name, oracle in {**MACHINES, **CONSUMER_MACHINES, **BROKER_MACHINES}.items():
        page = pages[f"machines/{name}.md"]
        assert f"[{name}]({name}.md)" in index
        for move in oracle.moves:
            assert f"| {move.before} | {move.event} | {move.after} | {move.source} |" in page
            assert move.departure in page
        assert all(row.source in page and row.reason in page for row in oracle.left_out)


def test_changed_missing_and_stale_pages_are_detected(docs, tmp_path):
    (tmp_path / "same.md").write_text("same")
    (tmp_path / "changed.md").write_text("old")
    (tmp_path / "gone.md").write_text(f"# Gone\n\n{docs.NOTE}")
    (tmp_path / "by-hand.md").write_text("# By hand\n")
    wanted = {"same.md": "same", "changed.md": "new", "missing.md": "here"}
    assert docs.drift(tmp_path, wanted) == {"changed.md": "new", "missing.md": "here", "gone.md": None}


def test_generation_is_the_same_in_another_process(docs, pages):
    program = "import sys; sys.path.insert(0, 'scripts'); import docs, json; print(json.dumps(docs.pages()))"
    made = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={"PYTHONHASHSEED": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    ).stdout
    assert list(json.loads(made).items()) == list(pages.items())
