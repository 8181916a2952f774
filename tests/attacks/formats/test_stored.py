"""Each file of a run is read, or refused with one error message, and the other trials keep their verdicts."""

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
from harness.model.consumer_contract import ConsumerEvent
from harness.model.contract import AnyEvent
from harness.model.errors import UsageError
from harness.model.harness_events import HarnessEvent
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

#: The trials of the run whose files are edited, by what their clients do: the places in its plan.
TRIALS = {"produces": 0, "consumes": 2}
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
ASIDE_ROW = {
    "name": "aside_written", "seq": 0, "mono_ns": 1, "wall_ns": 2, "producer": "harness",
    "partitions": [0, 1], "offsets": [7, 8], "values": ["v", "w"],
}  # fmt: skip
#: Row files by trial. Consumers leave no trace, and no packets are captured.
FILES = [("produces", name) for name in ROWS] + [
    ("consumes", name) for name in (HISTORY, FAULTS, FRAMES, LOG)
]
NESTED: Edits = ([("replace", 0, 0, Raw(b"[" * 100_000))], [])
HUGE_NUMBER: Edits = ([("replace", 1, 0, Raw(b"9" * 5_000))], [])
INVALID_UTF8: Edits = ([("replace", 1, 0, Raw(b'"\xff"'))], [])


Files = dict[tuple[str, str], Any]


@pytest.fixture(scope="module")
def valid(run: RunStore) -> Files:
    """Return the original files of one trial of each kind, and of the run."""
    files: Files = {("", RUN): (run.folder / RUN).read_bytes()}
    for kind, at in TRIALS.items():
        trial = run.trial_folder(run.record.plan.trials[at].trial)
        files |= {(kind, name): (trial / name).read_bytes() for name in (TRIAL, VERDICT)}
        for name in ROWS:
            if (kind, name) in FILES and name != TCP:
                files[kind, name] = zstd.unpacked(zstd.at_rest(trial / name).read_bytes())
    files["produces", TCP] = b"".join(json.dumps(row).encode() + b"\n" for row in TCP_ROWS)
    files["consumes", HISTORY] += json.dumps(ASIDE_ROW).encode() + b"\n"
    return files


@pytest.fixture(scope="module")
def documents(valid: Files) -> Files:
    """Return the files as values, the row files with one row of each kind."""
    return {place: one_of_each(data) if place in FILES else json.loads(data) for place, data in valid.items()}


def one_of_each(rows: bytes) -> list[Any]:
    found = {}
    for row in map(json.loads, rows.splitlines()):
        found.setdefault((row.get("name"), row.get("kind"), row.get("api"), row.get("event")), row)
    return list(found.values())


@many
@given(EDITS)
@example(NESTED)
@example(HUGE_NUMBER)
@example(INVALID_UTF8)
def test_edited_run_json_is_read_or_refused(run, documents, valid, survives, edits):
    path = run.folder / RUN
    path.write_bytes(json_document(documents["", RUN], edits))
    try:
        record = survives(lambda: run.record, UsageError)
        if record is not None:
            msgspec.json.encode(record)
            survives(lambda: validate_plan.check(record.plan, Mode.LIVE), UsageError)
            survives(lambda: list(run.verdicts()), UsageError)
    finally:
        path.write_bytes(valid["", RUN])


@pytest.mark.parametrize("kind", TRIALS)
@many
@given(EDITS)
@example(NESTED)
@example(HUGE_NUMBER)
@example(INVALID_UTF8)
def test_edited_trial_json_is_read_or_refused(run, documents, valid, survives, kind, edits):
    trial = run.record.plan.trials[TRIALS[kind]].trial
    path = run.trial_folder(trial) / TRIAL
    path.write_bytes(json_document(documents[kind, TRIAL], edits))
    try:
        record = survives(lambda: run.trial_record(trial), UsageError)
        if record is not None:
            msgspec.json.encode(record)
            survives(lambda: validate_plan.check_numbers(record.spec), UsageError)
        plan = survives(lambda: read_plan(path), UsageError)
        if plan is not None and survives(lambda: moved(plan, None), UsageError):
            survives(lambda: validate_plan.check(plan, Mode.SIMULATED), UsageError)
    finally:
        path.write_bytes(valid[kind, TRIAL])


@pytest.mark.parametrize("kind", TRIALS)
@many
@given(EDITS)
@example(NESTED)
@example(HUGE_NUMBER)
@example(INVALID_UTF8)
def test_edited_verdict_json_is_read(run, documents, valid, survives, kind, edits):
    at, trials = TRIALS[kind], [spec.trial for spec in run.record.plan.trials]
    others = {trial: run.verdict(trial) for trial in trials if trial != trials[at]}
    path = run.trial_folder(trials[at]) / VERDICT
    path.write_bytes(json_document(documents[kind, VERDICT], edits))
    try:
        found = survives(lambda: list(run.verdicts()))
        assert [each.trial for each in found] == trials
        assert {each.trial: each for each in found if each.trial != trials[at]} == others
        assert found[at].verdict != Verdict.HARNESS_ERROR or found[at].code == unreadable.CODE
        msgspec.json.encode(found)
    finally:
        path.write_bytes(valid[kind, VERDICT])


@pytest.fixture(scope="module")
def place(memory: Path) -> Path:
    return memory / "rows.jsonl"


@pytest.mark.parametrize(("kind", "name"), FILES)
@many
@given(EDITS)
@example(NESTED)
@example(HUGE_NUMBER)
@example(INVALID_UTF8)
def test_edited_json_lines_are_read_or_refused(place, documents, survives, kind, name, edits):
    """Older runs store their rows uncompressed."""
    zstd.at_rest(place).unlink(missing_ok=True)
    place.write_bytes(json_lines(documents[kind, name], edits))
    rows = survives(lambda: read_rows(place, ROWS[name]), UsageError)
    if rows is not None:
        msgspec.json.encode(rows)


@many
@given(st.sampled_from(FILES), BYTE_EDITS, st.booleans(), st.booleans())
def test_edited_compressed_rows_are_read_or_refused(place, valid, survives, file, edits, has_size, has_sum):
    """The rows are compressed with any option of zstd, and then edited."""
    writer = zstd.zstandard.ZstdCompressor(write_content_size=has_size, write_checksum=has_sum)
    zstd.at_rest(place).write_bytes(bytewise(writer.compress(valid[file]), edits))
    rows = survives(lambda: read_rows(place, ROWS[file[1]]), UsageError)
    if rows is not None:
        msgspec.json.encode(rows)


@pytest.mark.parametrize("kind", TRIALS)
def test_unedited_documents_are_valid(run, documents, kind):
    """Otherwise the tests above would edit documents that are already invalid."""
    verdict = msgspec.convert(documents[kind, VERDICT], TrialVerdict)
    assert verdict.trial == run.record.plan.trials[TRIALS[kind]].trial and verdict.verdict == Verdict.PASS
    for place, name in FILES:
        msgspec.convert(documents[place, name], list[ROWS[name]])


def test_rows_of_a_group_have_its_events_and_parts(documents):
    history = {row["name"] for row in documents["consumes", HISTORY]}
    expected = {*map(tag, (*ConsumerEvent.__args__, *HarnessEvent.__args__))}
    assert expected - history == {"partitions_lost", "member_frozen", "member_thawed"}
    frames = documents["consumes", FRAMES]
    assert all(
        any(row.get(part) for row in frames) for part in ("members", "coordinators", "fetch", "offsets")
    )


def tag(kind: type[msgspec.Struct]) -> str:
    return str(kind.__struct_config__.tag)
