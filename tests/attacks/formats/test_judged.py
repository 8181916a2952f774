"""A run with one edited file is judged and exported completely, and the other trials keep their verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from harness import exports
from harness.files import zstd
from harness.model.errors import UsageError
from harness.model.run_files import FAULTS, FRAMES, HISTORY, LOG, RUN, TRACE, TRIAL, VERDICT
from harness.model.verdicts import Verdict
from harness.running.trial_runner import rejudge
from harness.storage import parquet_writer
from harness.storage.run_store import RunStore
from tests.attacks.formats.documents import json_document, json_lines
from tests.attacks.formats.edits import EDITS, fewer

pytestmark = pytest.mark.long("judges a run for each edit")

#: The trials of the run whose files are edited, by what their clients do: the places in its plan.
TRIALS = {"produces": 0, "consumes": 2}
#: Consumers leave no trace.
ROWS = {
    "produces": (HISTORY, FAULTS, FRAMES, LOG, TRACE),
    "consumes": (HISTORY, FAULTS, FRAMES, LOG),
}
FILES = [
    ("produces", RUN),
    *((kind, name) for kind, rows in ROWS.items() for name in (TRIAL, VERDICT, *rows)),
]


@pytest.fixture(scope="module")
def paths(run: RunStore) -> dict[tuple[str, str], Path]:
    """Return the path of every file that a test edits."""
    found = {("produces", RUN): run.folder / RUN}
    for kind, rows in ROWS.items():
        trial = run.trial_folder(run.record.plan.trials[TRIALS[kind]].trial)
        found |= {(kind, name): trial / name for name in (TRIAL, VERDICT)}
        found |= {(kind, name): zstd.at_rest(trial / name) for name in rows}
    return found


@pytest.fixture(scope="module")
def valid(paths: dict[tuple[str, str], Path]) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in paths.values()}


@pytest.fixture(scope="module")
def documents(valid: dict[Path, bytes]) -> dict[Path, Any]:
    return {
        path: [json.loads(line) for line in zstd.unpacked(data).splitlines()]
        if path.suffix == zstd.SUFFIX
        else json.loads(data)
        for path, data in valid.items()
    }


@pytest.mark.parametrize(("kind", "name"), FILES)
@fewer
@given(EDITS)
def test_edited_run_is_judged_and_exported(run, paths, valid, documents, survives, kind, name, edits):
    path = paths[kind, name]
    trials = [spec.trial for spec in run.record.plan.trials]
    if path.suffix == zstd.SUFFIX:
        path.write_bytes(zstd.packed(json_lines(documents[path], edits)))
    else:
        path.write_bytes(json_document(documents[path], edits))
    try:
        verdicts = survives(lambda: rejudge(run), UsageError)
        if verdicts is not None:
            survives(lambda: exports.write(run, verdicts), UsageError)
            survives(lambda: parquet_writer.pack(run), UsageError)
        if name != RUN:
            assert [each.trial for each in verdicts] == trials
            assert all(
                each.verdict == Verdict.PASS for each in verdicts if each.trial != trials[TRIALS[kind]]
            )
            lines = (run.folder / "results.jsonl").read_text().splitlines()
            assert [json.loads(line)["trial"] for line in lines] == trials
            assert all("\n" not in each.reason for each in verdicts)
    finally:
        for each, data in valid.items():
            each.write_bytes(data)
