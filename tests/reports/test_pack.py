"""Packing a run: nothing lost, nothing half, the same bytes every time."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.pandas.types import to_arrow_schema

import harness.pack
from harness import zstd
from harness.capture.rows import By, TcpFact, What
from harness.errors import EnvironmentProblem, UsageError
from harness.pack import SCHEMAS, pack
from harness.rows import (
    CaptureRecord,
    Delivery,
    Ending,
    Finding,
    Frame,
    LogRecord,
    ProducePart,
    RequirementVerdict,
)
from harness.store import LOG, RunStore
from harness.tables import DELIVERY, TABLES
from reports import schema

Stories = Callable[..., Any]
Runs = Callable[..., RunStore]


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder / table).to_pylist()
    return found


def test_spark_reads_with_the_schema_that_arrow_writes() -> None:
    assert schema.SCHEMAS.keys() == SCHEMAS.keys()
    for table, written in SCHEMAS.items():
        read = to_arrow_schema(schema.SCHEMAS[table])
        assert read.names == written.names
        assert [field.type for field in written] == [_plain(field.type) for field in read]


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.list_(kind.value_type) if pa.types.is_list(kind) else kind


def test_no_field_of_a_row_is_forgotten() -> None:
    exploded = {"value", "produce"}
    packed = (
        (LogRecord, "log_records"),
        (Frame, "frames"),
        (ProducePart, "produce_parts"),
        (TcpFact, "tcp"),
    )
    for struct, table in packed:
        assert set(struct.__struct_fields__) - exploded <= set(TABLES[table])
    assert tuple(DELIVERY) == Delivery.__struct_fields__


def test_every_row_of_a_whole_trial_comes_back(whole_story: Stories, run_of: Runs) -> None:
    story = whole_story("one")
    evidence = story.evidence()
    folder = pack(run_of(story))

    operations = rows(folder, "operations")
    assert [(row["n"], row["invoke_ns"], row["complete_ns"], row["offset"]) for row in operations] == [
        (send.n, send.invoke_ns, send.complete_ns, send.offset) for send in evidence.sends.values()
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
    assert rows(folder, "delivery") == [{"trial": "one"} | msgspec.structs.asdict(story.delivery)]


def test_what_the_capture_told_is_a_table(story: Stories, run_of: Runs) -> None:
    told = story("one")
    told.capture = CaptureRecord(packets=9, frames=1)
    told.tcp = [
        TcpFact(5, 1, 40_001, What.SYN, By.CLIENT, 1),
        TcpFact(6, 1, 40_001, What.FRAME, By.CLIENT, 1, 7, 312),
    ]
    store = run_of(told, story("two"))
    syn, frame = rows(pack(store), "tcp")
    assert frame == {
        "trial": "one", "t_ns": 6, "broker": 1, "client_port": 40_001, "what": "frame", "by": "client", "conn": 1,
        "correlation_id": 7, "size_bytes": 312,
    }  # fmt: skip
    assert (syn["what"], syn["correlation_id"], syn["size_bytes"]) == ("syn", None, None)
    assert store.read_evidence("one") == told.evidence()


def test_unknown_places_and_missing_results_are_null(story: Stories, run_of: Runs) -> None:
    told = story("one")
    told.send(0, 5)
    told.send(1, 6)
    told.result(1, 6, 9, "info")
    first, second = rows(pack(run_of(told)), "operations")
    assert (first["complete_ns"], first["outcome"], first["offset"]) == (None, "info", None)
    assert (second["complete_ns"], second["error"], second["partition"]) == (9, "TIMED_OUT", None)


def test_foreign_and_damaged_records_have_no_identity_of_ours(any_story: Stories, run_of: Runs) -> None:
    stories = [any_story(f"t{number}", Random(number)) for number in range(20)]
    log = rows(pack(run_of(*stories)), "log_records")
    assert {row["intact"] for row in log} == {True, False}
    for row in log:
        assert row["intact"] == (row["identity_n"] is not None) == (row["identity_run"] is not None)
    assert {row["identity_run"] for row in log} == {"run-1", "another", None}


def test_findings_are_kept_with_their_counts(story: Stories, run_of: Runs) -> None:
    told = story("one")
    findings = (Finding("lost", "3 records", 3, ({"n": 1, "error": None},)), Finding("lost", "2 more", 2))
    told.requirements = (RequirementVerdict("E2E-DEL-01", "MUST", "fail", findings),)
    folder = pack(run_of(told))
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
    (row,) = rows(pack(run_of(told)), "trials")
    assert row["counted"] is counted


def test_packing_again_gives_the_same_bytes_and_nothing_else(any_story: Stories, run_of: Runs) -> None:
    store = run_of(*(any_story(f"t{number}", Random(number)) for number in range(3)))

    def packed() -> dict[str, bytes]:
        folder = pack(store)
        return {
            str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
        }

    first = packed()
    (store.folder / "tables" / "operations" / "stale.parquet").write_bytes(b"")
    assert packed() == first
    assert sorted(first) == sorted(f"{table}/part-0.parquet" for table in TABLES)
    assert [path.name for path in store.folder.iterdir() if path.name.startswith(".")] == []


def test_only_finished_trials_are_packed(story: Stories, run_of: Runs) -> None:
    unfinished = story("unfinished")
    store = run_of(story("finished"), planned=[unfinished.spec])
    store.write_evidence(unfinished.evidence())
    assert [row["trial"] for row in rows(pack(store), "trials")] == ["finished"]


def test_a_run_without_trials_has_empty_tables_of_the_right_columns(run_of: Runs) -> None:
    folder = pack(run_of())
    for table, columns in TABLES.items():
        found = pq.read_schema(folder / table / "part-0.parquet")
        assert found.names == list(columns)
        assert found.metadata[b"kafka_trial.schema_version"] == b"2"


def test_what_no_column_can_hold_is_one_sentence_and_leaves_the_old_tables(
    story: Stories, run_of: Runs
) -> None:
    store = run_of(story("one"))
    before = rows(pack(store), "trials")
    huge = story("one")
    huge.send(2**70, 1)
    store.write_evidence(huge.evidence())
    with pytest.raises(
        UsageError, match=r"cannot read .*history\.jsonl\.zst: Expected `int` <= 9223372036854775807"
    ):
        pack(store)
    assert rows(store.folder / "tables", "trials") == before


@pytest.mark.parametrize("content", [b"", b"{", zstd.packed(b"{")])
def test_evidence_that_is_missing_or_garbled_is_one_sentence(
    story: Stories, run_of: Runs, content: bytes
) -> None:
    store = run_of(story("one"))
    zstd.at_rest(store.trial_folder("one") / LOG).write_bytes(content)
    with pytest.raises(UsageError, match=r"cannot read .*log\.jsonl"):
        pack(store)


def test_a_folder_that_cannot_be_written_is_one_sentence(
    story: Stories, run_of: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = run_of(story("one"))
    before = rows(pack(store), "trials")

    def full(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(harness.pack, "_batch", full)
    with pytest.raises(EnvironmentProblem, match=r"cannot write .*tables: No space left on device"):
        pack(store)
    assert rows(store.folder / "tables", "trials") == before
    assert [path.name for path in store.folder.iterdir() if path.name.startswith(".")] == []
