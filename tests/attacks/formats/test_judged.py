"""A run with one edited file is judged and exported completely, and the other trial keeps its verdict."""

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

ROWS = (HISTORY, FAULTS, FRAMES, LOG, TRACE)


@pytest.fixture(scope="module")
def valid(run: RunStore) -> dict[Path, bytes]:
    """Return path and content of every file that a test edits."""
    trial = run.trial_folder(run.record.plan.trials[0].trial)
    paths = [run.folder / RUN, trial / TRIAL, trial / VERDICT, *(zstd.at_rest(trial / name) for name in ROWS)]
    return {path: path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def documents(valid: dict[Path, bytes]) -> dict[Path, Any]:
    return {
        path: [json.loads(line) for line in zstd.unpacked(data).splitlines()]
        if path.suffix == zstd.SUFFIX
        else json.loads(data)
        for path, data in valid.items()
    }


@pytest.mark.parametrize("name", [RUN, TRIAL, VERDICT, *ROWS])
@fewer
@given(EDITS)
def test_edited_run_is_judged_and_exported(run, valid, documents, survives, name, edits):
    [path] = (path for path in valid if path.name.removesuffix(zstd.SUFFIX) == name)
    other = run.record.plan.trials[1].trial
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
            assert [each.verdict for each in verdicts if each.trial == other] == [Verdict.PASS]
            lines = (run.folder / "results.jsonl").read_text().splitlines()
            assert [json.loads(line)["trial"] for line in lines] == [each.trial for each in verdicts]
            assert all("\n" not in each.reason for each in verdicts)
    finally:
        for each, data in valid.items():
            each.write_bytes(data)
