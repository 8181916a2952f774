"""The run folder: files are written atomically, and anything that is not a run is one error."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import pytest
from msgspec import structs

from harness.files.row_files import write_json
from harness.files.zstd import at_rest, packed, unpacked
from harness.judging.crosscheck import crosscheck
from harness.model.contract import OpComplete, OpInvoke
from harness.model.errors import EnvironmentProblem, UsageError
from harness.model.evidence import Evidence
from harness.model.rows import (
    SCHEMA_VERSION,
    CaptureRecord,
    Disposition,
    Ending,
    FaultRow,
    Frame,
    FrameKind,
    LogRecord,
    Phases,
    ProducePart,
    TrialRecord,
    TrialVerdict,
)
from harness.model.run_files import LOG, TCP, TRACE, VERDICT
from harness.model.spec import ClientRef, FaultSpec, OnFrame, Plan, TrialSpec, Workload
from harness.model.tcp_facts import By, TcpFact, What
from harness.model.verdicts import Guarantee
from harness.storage.run_store import RunRecord, RunStore
from testkit.codes import raises_code

FAULT = FaultSpec("latency", OnFrame("Produce", nth=3), 100, {"upstream_ms": 5})
SPEC = TrialSpec(
    "t-1", ClientRef("c", "1"), "local:x", "produce/calm", Guarantee.IDEMPOTENT, 3, Workload(), (FAULT,), {}
)
EVIDENCE = Evidence(
    record=TrialRecord(SPEC, "run", "topic", 0, Phases(1, 2, 3, 4), Ending.COMPLETE),
    history=(
        OpInvoke(seq=0, mono_ns=1, wall_ns=1, op="send", id=1, first=0, count=2),
        OpComplete(
            seq=1, mono_ns=2, wall_ns=2, op="send", id=1, records=[1], outcome=["ok"], error=[None], invoke_ns=[1],
            complete_ns=[2], partition=[0], offset=[7],
        ),
    ),
    frames=(Frame(5, 0, 1, 1, FrameKind.REQUEST, produce=(ProducePart("t", 0, 9, 0, 4, 2, 77),)),),
    faults=(FaultRow(0, FAULT, (1, 2), None, 3),),
    log=(LogRecord("t", 0, 7, 7, 1, 9, 0, 4, False, True, "k", "v", 77),),
)  # fmt: skip


def record() -> RunRecord:
    return RunRecord("run", "2026-01-01T00:00:00+00:00", Plan(3, (SPEC,)), 1, {}, ["kafka-trial"])


def test_stored_evidence_is_read_back(tmp_path):
    store = RunStore.create(tmp_path, record())
    store.write_evidence(EVIDENCE)
    assert store.read_evidence("t-1") == EVIDENCE


def test_a_trace_that_is_not_wanted_is_only_checked(tmp_path):
    store = RunStore.create(tmp_path, record())
    store.write_evidence(replace(EVIDENCE, trace=({"type": "request_sent"},)))
    assert store.read_evidence("t-1", with_trace=False) == EVIDENCE
    at_rest(store.trial_folder("t-1") / TRACE).write_bytes(packed(b'{"type": "request_sent"}\n{'))
    with raises_code(UsageError, "cannot-read"):
        store.read_evidence("t-1", with_trace=False)


def test_uncompressed_rows_of_an_older_version_are_read(tmp_path):
    store = RunStore.create(tmp_path, record())
    store.write_evidence(EVIDENCE)
    for path in store.trial_folder("t-1").glob("*.zst"):
        path.with_suffix("").write_bytes(unpacked(path.read_bytes()))
        path.unlink()
    assert store.read_evidence("t-1") == EVIDENCE


def test_compressed_rows_take_precedence_over_uncompressed_ones(tmp_path):
    store = RunStore.create(tmp_path, record())
    store.write_evidence(EVIDENCE)
    compressed = at_rest(store.trial_folder("t-1") / LOG)
    (store.trial_folder("t-1") / LOG).write_bytes(unpacked(compressed.read_bytes()))
    compressed.unlink()
    compressed.symlink_to("nowhere")
    with raises_code(UsageError, "cannot-read", path=re.compile(r"log\.jsonl\.zst$")):
        store.read_evidence("t-1")


def test_stopped_frames_are_stored_separately(tmp_path):
    store = RunStore.create(tmp_path, record())
    passed, stopped = (
        Frame(t_ns, 0, 1, 1, FrameKind.RESPONSE, fault="f", disposition=disposition)
        for t_ns, disposition in ((5, Disposition.DELAYED), (4, Disposition.BLOCKED))
    )
    store.write_evidence(replace(EVIDENCE, frames=(passed,), blocked_frames=(stopped,)))
    read = store.read_evidence("t-1")
    assert (read.frames, read.blocked_frames) == ((passed,), (stopped,))


def test_the_rows_of_a_capture_must_exist(tmp_path):
    store = RunStore.create(tmp_path, record())
    tcp = (TcpFact(5, 1, 40_001, What.FRAME, By.CLIENT, 1, 7, 312),)
    captured = structs.replace(EVIDENCE.record, capture=CaptureRecord(packets=1, frames=1))
    store.write_evidence(replace(EVIDENCE, record=captured, tcp=tcp))
    assert store.read_evidence("t-1").tcp == tcp
    at_rest(store.trial_folder("t-1") / TCP).unlink()
    with raises_code(UsageError, "run-folder-incomplete", path=re.compile(r"tcp\.jsonl$")):
        store.read_evidence("t-1")


def test_rows_of_an_older_capture_are_read(tmp_path):
    store = RunStore.create(tmp_path, record())
    captured = structs.replace(EVIDENCE.record, capture=CaptureRecord(packets=1))
    store.write_evidence(replace(EVIDENCE, record=captured))
    old = '{"t_ns":5,"broker":1,"client_port":40001,"what":"syn","by":"client"}\n'
    (store.trial_folder("t-1") / TCP).write_text(old)
    read = store.read_evidence("t-1")
    assert read.tcp == (TcpFact(5, 1, 40_001, What.SYN, By.CLIENT),)
    assert crosscheck(read) is None


def test_a_record_without_a_result_is_pending_and_info():
    first, second = EVIDENCE.operations.values()
    assert (first.pending, first.outcome) == (True, "info")
    assert (second.pending, second.outcome, second.offset) == (False, "ok", 7)


def test_only_a_verdict_finishes_a_trial(tmp_path):
    store = RunStore.create(tmp_path, record())
    store.write_evidence(EVIDENCE)
    assert not store.finished("t-1")
    verdict = TrialVerdict("t-1", "c@1", "local:x", "produce/calm", "idempotent", 3, "pass", "")
    store.write_verdict(verdict)
    assert store.finished("t-1")
    assert list(store.verdicts()) == [verdict]


@pytest.mark.parametrize("foreign", [{"client": "confluent-kafka@2.16.1"}, {"trial": "t-2"}])
def test_a_verdict_of_another_trial_is_a_harness_error(tmp_path, foreign):
    store = RunStore.create(tmp_path, record())
    verdict = TrialVerdict("t-1", "c@1", "local:x", "produce/calm", "idempotent", 3, "pass", "")
    write_json(store.trial_folder("t-1") / VERDICT, structs.replace(verdict, **foreign))

    [verdict] = store.verdicts()
    assert (verdict.verdict, verdict.trial, verdict.client) == ("harness-error", "t-1", "c@1")
    assert verdict.code == "evidence-unreadable"


def test_a_record_of_another_trial_is_refused(tmp_path):
    store = RunStore.create(tmp_path, record())
    store.write_evidence(EVIDENCE)
    store.trial_folder("t-1").rename(store.trial_folder("t-2"))

    with raises_code(UsageError, "other-trial", trial="t-1"):
        store.read_evidence("t-2")


def test_latest_points_to_the_run(tmp_path):
    RunStore.create(tmp_path, record()).stop("completed")
    assert RunStore.open(tmp_path).record.stop_reason == "completed"


def test_the_stop_reason_is_one_line_without_secrets(tmp_path):
    store = RunStore.create(tmp_path, record())
    store.stop("failed: \x1b]0;owned\x07\n--token hunter2" + "x" * 10_000 + " the end")
    told = RunStore.open(tmp_path).record.stop_reason
    assert told is not None and told == "failed: \\x1b]0;owned\\x07\\n--token [redacted] the end"


@pytest.mark.parametrize("make", ["nothing", "file", "empty", "other"])
def test_a_path_that_is_not_a_run_is_refused(tmp_path, make):
    path = tmp_path / "x"
    if make == "file":
        path.write_text("")
    elif make != "nothing":
        path.mkdir()
        if make == "other":
            (path / "something").write_text("")
    with raises_code(UsageError, "not-a-run"):
        RunStore.open(path)


@pytest.mark.parametrize(
    "text", [b"", b"{", b'{"run_id": 3}', b"[]", b"\x00", b'{"run_id": "\xff"}', b"[" * 100_000]
)
def test_a_damaged_file_is_named(tmp_path, text):
    store = RunStore.create(tmp_path, record())
    (store.folder / "run.json").write_bytes(text)
    with raises_code(UsageError, "cannot-read", path=re.compile(r"run\.json$")):
        _ = store.record


def test_a_run_of_another_schema_is_refused(tmp_path):
    store = RunStore.create(tmp_path, record())
    path = store.folder / "run.json"
    path.write_text(path.read_text().replace(f'"schema_version": {SCHEMA_VERSION}', '"schema_version": 99'))
    with raises_code(UsageError, "schema-version", found=99, schema_version=SCHEMA_VERSION):
        _ = store.record


def test_only_one_process_at_a_time_can_claim_a_run(tmp_path):
    store = RunStore.create(tmp_path, record())
    with store.claimed(), raises_code(UsageError, "run-in-use"), store.claimed():
        pass
    with store.claimed():
        pass


def test_an_unwritable_folder_is_an_environment_problem(tmp_path):
    (tmp_path / "out").write_text("a file where a folder should be")
    with raises_code(EnvironmentProblem, "cannot-write"):
        RunStore.create(tmp_path / "out", record())


def test_a_pipe_is_refused_instead_of_read(tmp_path):
    store = RunStore.create(tmp_path, record())
    (store.folder / "run.json").unlink()
    os.mkfifo(store.folder / "run.json")
    with raises_code(UsageError, "cannot-read", why="it is a pipe, not a regular file"):
        _ = store.record
