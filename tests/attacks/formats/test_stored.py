"""Each file of a run is read, or refused with one error message, and the other trial keeps its verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.cli.commands.replay import moved, read_plan
from harness.files import zstd
from harness.files.row_files import read_rows
from harness.model.contract import AnyEvent
from harness.model.errors import UsageError
from harness.model.mode import Mode
from harness.model.rows import FaultRow, Frame, LogRecord, TrialVerdict
from harness.model.run_files import FAULTS, FRAMES, HISTORY, LOG, RUN, TCP, TRACE, TRIAL, VERDICT
from harness.model.tcp_facts import TcpFact
from harness.model.verdicts import Verdict
from harness.planning import validate_plan
from harness.storage import unreadable
from harness.storage.run_store import RunStore
from tests.attacks.formats.documents import json_document, json_lines
from tests.attacks.formats.edits import BYTE_EDITS, EDITS, Edits, bytewise, many
from tests.attacks.formats.hostile_values import Raw

ROWS: dict[str, Any] = {
    HISTORY: AnyEvent,
    FAULTS: FaultRow,
    FRAMES: Frame,
    LOG: LogRecord,
    TRACE: dict[str, Any],
    TCP: TcpFact,
}
TCP_ROWS = [
    {"t_ns": 1, "broker": 1, "client_port": 40_001, "what": "syn", "by": "client", "conn": 1},
    {"t_ns": 2, "broker": 1, "client_port": 40_001, "what": "frame", "by": "proxy", "conn": 1,
     "correlation_id": 7, "size_bytes": 12},
]  # fmt: skip
NESTED: Edits = ([("replace", 0, 0, Raw(b"[" * 100_000))], [])
HUGE_NUMBER: Edits = ([("replace", 1, 0, Raw(b"9" * 5_000))], [])
INVALID_UTF8: Edits = ([("replace", 1, 0, Raw(b'"\xff"'))], [])


def stored(text: bytes) -> Any:
    return json.loads(text)


@pytest.fixture(scope="module")
def valid(run: RunStore) -> dict[str, bytes]:
    """Return the original files of the first trial and of the run."""
    trial = run.trial_folder(run.record.plan.trials[0].trial)
    files = {name: (trial / name).read_bytes() for name in (TRIAL, VERDICT)}
    files[RUN] = (run.folder / RUN).read_bytes()
    for name in ROWS.keys() - {TCP}:
        files[name] = zstd.unpacked(zstd.at_rest(trial / name).read_bytes())
    files[TCP] = b"".join(json.dumps(row).encode() + b"\n" for row in TCP_ROWS)
    return files


@pytest.fixture(scope="module")
def documents(valid: dict[str, bytes]) -> dict[str, Any]:
    return {
        name: [stored(line) for line in data.splitlines()][:8] if name in ROWS else stored(data)
        for name, data in valid.items()
    }


@many
@given(EDITS)
@example(NESTED)
@example(HUGE_NUMBER)
@example(INVALID_UTF8)
def test_edited_run_json_is_read_or_refused(run, documents, valid, survives, edits):
    path = run.folder / RUN
    path.write_bytes(json_document(documents[RUN], edits))
    try:
        record = survives(lambda: run.record, UsageError)
        if record is not None:
            msgspec.json.encode(record)
            survives(lambda: validate_plan.check(record.plan, Mode.LIVE), UsageError)
            survives(lambda: list(run.verdicts()), UsageError)
    finally:
        path.write_bytes(valid[RUN])


@many
@given(EDITS)
@example(NESTED)
@example(HUGE_NUMBER)
@example(INVALID_UTF8)
def test_edited_trial_json_is_read_or_refused(run, documents, valid, survives, edits):
    trial = run.record.plan.trials[0].trial
    path = run.trial_folder(trial) / TRIAL
    path.write_bytes(json_document(documents[TRIAL], edits))
    try:
        record = survives(lambda: run.trial_record(trial), UsageError)
        if record is not None:
            msgspec.json.encode(record)
            survives(lambda: validate_plan.check_numbers(record.spec), UsageError)
        plan = survives(lambda: read_plan(path), UsageError)
        if plan is not None and survives(lambda: moved(plan, None), UsageError):
            survives(lambda: validate_plan.check(plan, Mode.SIMULATED), UsageError)
    finally:
        path.write_bytes(valid[TRIAL])


@many
@given(EDITS)
@example(NESTED)
@example(HUGE_NUMBER)
@example(INVALID_UTF8)
def test_edited_verdict_json_is_read(run, documents, valid, survives, edits):
    one, other = run.record.plan.trials
    path = run.trial_folder(one.trial) / VERDICT
    path.write_bytes(json_document(documents[VERDICT], edits))
    try:
        found = survives(lambda: list(run.verdicts()))
        assert [each.trial for each in found] == [one.trial, other.trial]
        assert found[1] == run.verdict(other.trial)
        assert found[0].verdict != Verdict.HARNESS_ERROR or found[0].code == unreadable.CODE
        msgspec.json.encode(found)
    finally:
        path.write_bytes(valid[VERDICT])


@pytest.fixture(scope="module")
def place(memory: Path) -> Path:
    return memory / "rows.jsonl"


@pytest.mark.parametrize("name", ROWS)
@many
@given(EDITS)
@example(NESTED)
@example(HUGE_NUMBER)
@example(INVALID_UTF8)
def test_edited_json_lines_are_read_or_refused(place, documents, survives, name, edits):
    """Older runs store their rows uncompressed."""
    zstd.at_rest(place).unlink(missing_ok=True)
    place.write_bytes(json_lines(documents[name], edits))
    rows = survives(lambda: read_rows(place, ROWS[name]), UsageError)
    if rows is not None:
        msgspec.json.encode(rows)


@many
@given(st.sampled_from(sorted(ROWS)), BYTE_EDITS, st.booleans(), st.booleans())
def test_edited_compressed_rows_are_read_or_refused(place, valid, survives, name, edits, has_size, has_sum):
    """The rows are compressed with any option of zstd, and then edited."""
    writer = zstd.zstandard.ZstdCompressor(write_content_size=has_size, write_checksum=has_sum)
    zstd.at_rest(place).write_bytes(bytewise(writer.compress(valid[name]), edits))
    rows = survives(lambda: read_rows(place, ROWS[name]), UsageError)
    if rows is not None:
        msgspec.json.encode(rows)


def test_unedited_documents_are_valid(run, documents):
    """Otherwise the tests above would edit documents that are already invalid."""
    assert msgspec.convert(documents[VERDICT], TrialVerdict).trial == run.record.plan.trials[0].trial
