"""Packing a run: complete, atomic, and reproducible byte for byte."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

import harness.storage.parquet_writer
from harness import files
from harness.files import zstd
from harness.model.consumer_rows import CoordinatorPart, FetchPart, MemberPart, OffsetPart
from harness.model.contract import OpComplete, OpInvoke
from harness.model.errors import EnvironmentProblem
from harness.model.rows import (
    SCHEMA_VERSION,
    CaptureRecord,
    Ending,
    Finding,
    Frame,
    LogRecord,
    ProducePart,
    RequirementVerdict,
)
from harness.model.run_files import LOG, TRACE, TRIAL, VERDICT
from harness.model.tcp_facts import By, TcpFact, What
from harness.simulated.judged import RUN_ID, simulate
from harness.storage.parquet_schema import TABLES, all_tables
from harness.storage.parquet_writer import PARTS, pack, packed, schemas
from harness.storage.run_store import RunStore
from reports.spark.load import READ
from testkit.codes import raises_code
from tests.reports.conftest import write_run

pytestmark = pytest.mark.long("packs a run for each test")

ROWS = "part-000/rows_00000.parquet"

Stories = Callable[..., Any]
Runs = Callable[..., RunStore]
Story = Any


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder / table).to_pylist()
    return found


def test_the_columns_that_spark_reads_are_packed() -> None:
    for table, columns in READ.items():
        assert {"trial", *columns} <= set(schemas()[table].names), table


def test_every_field_of_a_row_has_a_column() -> None:
    exploded = {
        "value",
        "produce",
        "members",
        "coordinators",
        "fetch",
        "offsets",
        "protocols",
        "said",
        "damaged",
    }
    packed = (
        (LogRecord, "log_records"),
        (Frame, "frames"),
        (ProducePart, "produce_parts"),
        (MemberPart, "member_parts"),
        (CoordinatorPart, "coordinator_parts"),
        (FetchPart, "fetch_parts"),
        (OffsetPart, "offset_parts"),
        (TcpFact, "tcp"),
    )
    for struct, table in packed:
        assert set(struct.__struct_fields__) - exploded <= set(TABLES[table])


def test_damaged_batches_of_responses_are_packed(tmp_path: Path) -> None:
    evidence, verdict = simulate("delivery/damaged-batches", "reference", 5, "scripted:4.3.1x1")
    store = write_run(tmp_path, [], planned=[evidence.record.spec], run_id=RUN_ID)
    store.write_evidence(evidence)
    store.write_verdict(verdict)
    packed = [(row["damaged_begin"], row["damaged_end"]) for row in rows(pack(store).folder, "offset_parts")]
    parts = [part.damaged or (None, None) for frame in evidence.frames for part in frame.offsets]
    assert packed == parts and any(begin is not None for begin, _ in parts)


def test_every_row_of_a_whole_trial_is_restored(whole_story: Stories, run_of: Runs) -> None:
    story = whole_story("one")
    evidence = story.evidence()
    folder = pack(run_of(story)).folder

    operations = rows(folder, "operations")
    assert [(row["n"], row["invoke_ns"], row["complete_ns"], row["offset"]) for row in operations] == [
        (send.n, send.invoke_ns, send.complete_ns, send.offset) for send in evidence.operations.values()
    ]
    assert {row["key"] for row in operations} == {f"k{n}" for n in range(40)}
    log = rows(folder, "log_records")
    assert [(row["partition"], row["offset"], row["key"], row["identity_n"]) for row in log] == [
        (record.partition, record.offset, record.key, identity.n)
        for record, identity in zip(evidence.log, evidence.identities, strict=True)
        if identity
    ]
    assert len(rows(folder, "frames")) == len(evidence.frames)
    assert len(rows(folder, "produce_parts")) == sum(len(frame.produce) for frame in evidence.frames)
    (fault, _) = rows(folder, "faults")
    assert (fault["effective_start_ns"], fault["effective_end_ns"]) == evidence.faults[0].effective_ns
    assert msgspec.json.decode(fault["start_json"]) == {"on": "elapsed", "ms": 1_200}
    (trial,) = rows(folder, "trials")
    assert (trial["codec"], trial["acks"], trial["max_in_flight"], trial["idempotent"]) == (
        "zstd",
        "all",
        5,
        False,
    )
    assert rows(folder, "delivery") == [{"trial": "one"} | story.counts]


def test_capture_is_packed_as_a_table(story: Stories, run_of: Runs) -> None:
    told = story("one")
    told.capture = CaptureRecord(packets=9, frames=1)
    told.tcp = [
        TcpFact(5, 1, 40_001, What.SYN, By.CLIENT, 1),
        TcpFact(6, 1, 40_001, What.FRAME, By.CLIENT, 1, 7, 312),
    ]
    store = run_of(told, story("two"))
    syn, frame = rows(pack(store).folder, "tcp")
    assert frame == {
        "trial": "one", "t_ns": 6, "broker": 1, "client_port": 40_001, "what": "frame", "by": "client", "conn": 1,
        "correlation_id": 7, "size_bytes": 312,
    }  # fmt: skip
    assert (syn["what"], syn["correlation_id"], syn["size_bytes"]) == ("syn", None, None)
    assert store.read_evidence("one") == told.evidence()


def test_unknown_partitions_and_missing_results_are_null(story: Stories, run_of: Runs) -> None:
    told = story("one")
    told.send(0, 5)
    told.send(1, 6)
    told.result(1, 6, 9, "info")
    first, second = rows(pack(run_of(told)).folder, "operations")
    assert (first["complete_ns"], first["outcome"], first["offset"]) == (None, "info", None)
    assert (second["complete_ns"], second["error"], second["partition"]) == (9, "TIMED_OUT", None)


def test_foreign_and_damaged_records_have_no_identity(any_story: Stories, run_of: Runs) -> None:
    stories = [any_story(f"t{number}", Random(number)) for number in range(20)]
    log = rows(pack(run_of(*stories)).folder, "log_records")
    assert {row["intact"] for row in log} == {True, False}
    for row in log:
        assert row["intact"] == (row["identity_n"] is not None) == (row["identity_run"] is not None)
    assert {row["identity_run"] for row in log} == {"run-1", "another", None}


def test_findings_are_kept_with_their_counts(story: Stories, run_of: Runs) -> None:
    told = story("one")
    findings = (Finding("lost", "3 records", 3, ({"n": 1, "error": None},)), Finding("lost", "2 more", 2))
    told.requirements = (RequirementVerdict("E2E-DEL-01", "MUST", "fail", findings),)
    folder = pack(run_of(told)).folder
    (requirement,) = rows(folder, "requirements")
    assert (requirement["findings"], requirement["first_message"]) == (5, "3 records")
    first, second = rows(folder, "findings")
    assert (first["count"], first["samples_json"]) == (3, '[{"error":null,"n":1}]')
    assert second["samples_json"] == "[]"


@pytest.mark.parametrize(
    ("ending", "verdict", "requirements", "counted"),
    [
        (Ending.COMPLETE, "pass", (RequirementVerdict("A", "MUST", "pass"),), True),
        (Ending.COMPLETE, "not-exercised", (), True),
        (Ending.COMPLETE, "unsupported", (), False),
        (Ending.COMPLETE, "harness-error", (), False),
        (Ending.COMPLETE, "harness-error", (RequirementVerdict("A", "MUST", "harness-error"),), True),
        (Ending.HARNESS_ERROR, "harness-error", (), False),
    ],
)
def test_counted_says_whether_the_judge_counted(
    story: Stories, run_of: Runs, ending: Ending, verdict: str, requirements: tuple[Any, ...], counted: bool
) -> None:
    told = story("one")
    told.ending, told.verdict, told.requirements = ending, verdict, requirements
    (row,) = rows(pack(run_of(told)).folder, "trials")
    assert row["counted"] is counted


def test_packing_again_gives_the_same_bytes(any_story: Stories, run_of: Runs) -> None:
    store = run_of(*(any_story(f"t{number}", Random(number)) for number in range(3)))

    def packed() -> dict[str, bytes]:
        folder = pack(store).folder
        return {
            str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
        }

    first = packed()
    (store.folder / "tables" / "operations" / "stale.parquet").write_bytes(b"")
    assert packed() == first
    assert sorted(first) == sorted([PARTS, *(f"{table}/{ROWS}" for table in all_tables())])
    assert [path.name for path in store.folder.iterdir() if path.name.startswith(".")] == []


def test_only_finished_trials_are_packed(story: Stories, run_of: Runs) -> None:
    unfinished = story("unfinished")
    store = run_of(story("finished"), planned=[unfinished.spec])
    store.write_evidence(unfinished.evidence())
    assert [row["trial"] for row in rows(pack(store).folder, "trials")] == ["finished"]


def test_others_can_begin_only_if_there_are_new_trials(story: Stories, run_of: Runs) -> None:
    later = story("later")
    store = run_of(story("first"), planned=[later.spec])

    def begins() -> bool:
        began = list[bool]()
        with packed(store, begun=lambda: began.append(True)):
            pass
        return bool(began)

    assert [begins(), begins()] == [True, False]
    store.write_evidence(later.evidence())
    store.write_verdict(later.judgement())
    assert [begins(), begins()] == [True, False]


def test_run_without_trials_has_empty_tables_with_all_columns(run_of: Runs) -> None:
    folder = pack(run_of()).folder
    for table, columns in TABLES.items():
        found = pq.read_schema(folder / table / ROWS)
        assert found.names == list(columns)
        assert found.metadata[b"kafka_trial.schema_version"] == str(SCHEMA_VERSION).encode()


def too_large_in_history(store: RunStore, story: Story) -> None:
    story.send(2**70, 1)
    store.write_evidence(story.evidence())


def too_large_in_log(store: RunStore, story: Story) -> None:
    story.log = [msgspec.structs.replace(row, timestamp_ms=2**63) for row in story.log]
    store.write_evidence(story.evidence())


def garbled(store: RunStore, story: Story) -> None:
    zstd.at_rest(store.trial_folder(story.spec.trial) / LOG).write_bytes(zstd.packed(b"{"))


def torn(store: RunStore, story: Story) -> None:
    zstd.at_rest(store.trial_folder(story.spec.trial) / LOG).write_bytes(b"{")


def garbled_in_trace(store: RunStore, story: Story) -> None:
    files.write_whole(zstd.at_rest(store.trial_folder(story.spec.trial) / TRACE), zstd.packed(b"{"))


def without_its_record(store: RunStore, story: Story) -> None:
    (store.trial_folder(story.spec.trial) / TRIAL).unlink()


def in_the_name_of_another(store: RunStore, story: Story) -> None:
    path = store.trial_folder(story.spec.trial) / VERDICT
    path.write_text(path.read_text().replace('"bad"', '"good"'))


def of_no_known_verdict(store: RunStore, story: Story) -> None:
    path = store.trial_folder(story.spec.trial) / VERDICT
    path.write_text(path.read_text().replace('"pass"', '"splendid"'))


def of_columns_unequal(store: RunStore, story: Story) -> None:
    for at, row in enumerate(story.history):
        if isinstance(row, OpComplete) and row.op == "send":
            story.history[at] = msgspec.structs.replace(row, outcome=[])
            break
    store.write_evidence(story.evidence())


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (too_large_in_history, r"cannot read .*history\.jsonl\.zst: Expected `int` <= 9223372036854775807"),
        (too_large_in_log, r"the log_records of trial bad do not fit their columns"),
        (torn, r"cannot read .*log\.jsonl"),
        (garbled, r"cannot read .*log\.jsonl"),
        (garbled_in_trace, r"cannot read .*trace\.jsonl"),
        (without_its_record, r"trial\.json does not exist"),
        (of_columns_unequal, r"ValueError: zip"),
    ],
)
def test_corrupt_trial_is_a_harness_error_and_the_others_are_packed(
    whole_story: Stories, run_of: Runs, spoil: Callable[[RunStore, Story], None], why: str
) -> None:
    stories = {name: whole_story(name) for name in ("good", "bad", "fine")}
    store = run_of(*stories.values())
    spoil(store, stories["bad"])

    packed = pack(store)

    assert re.search(why, packed.spoiled["bad"]) and list(packed.spoiled) == ["bad"]
    found = {row["trial"]: (row["verdict"], row["reason"]) for row in rows(packed.folder, "trials")}
    assert found["bad"] == ("harness-error", packed.spoiled["bad"])
    assert found["good"][0] == found["fine"][0] == "pass"
    assert {row["trial"] for row in rows(packed.folder, "operations")} == {"good", "fine"}


@pytest.mark.parametrize("spoil", [in_the_name_of_another, of_no_known_verdict])
def test_unknown_verdict_affects_only_its_trial(
    whole_story: Stories, run_of: Runs, spoil: Callable[[RunStore, Story], None]
) -> None:
    stories = {name: whole_story(name) for name in ("good", "bad")}
    store = run_of(*stories.values())
    spoil(store, stories["bad"])

    good, bad = store.verdicts()

    assert (good.verdict, bad.verdict, bad.trial) == ("pass", "harness-error", "bad")
    assert {row["verdict"] for row in rows(pack(store).folder, "trials")} == {"pass", "harness-error"}


def test_stored_event_with_huge_counts_is_refused_quickly(whole_story: Stories, run_of: Runs) -> None:
    story = whole_story("one")
    story.say(OpInvoke, story.history[-1].mono_ns, op="send", id=1, first=0, count=2**62)
    assert pack(run_of(story)).folder.exists()


def test_unwritable_folder_is_reported(story: Stories, run_of: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    store = run_of(story("one"))
    before = rows(pack(store).folder, "trials")
    (store.trial_folder("one") / "client.log").write_text("one more line")

    def full(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    # A full disk cannot be produced without privileges, so a write fails in the middle of the packing.
    monkeypatch.setattr(harness.storage.parquet_writer, "_batch", full)
    with raises_code(
        EnvironmentProblem, "cannot-write", path=re.compile(r"tables$"), why="No space left on device"
    ):
        pack(store)
    assert rows(store.folder / "tables", "trials") == before
    assert [path.name for path in store.folder.iterdir() if path.name.startswith(".")] == []
