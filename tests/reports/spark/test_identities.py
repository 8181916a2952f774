"""The two judgements compared by identity: every change of the packed tables is detected and named.

Each trial of one run is changed in its own way, so that Spark judges all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from harness.model.anomaly_row import AnomalyRow
from harness.model.spec import ClientRef
from harness.storage.parquet_writer import pack, schemas
from harness.storage.run_store import RunStore
from harness.workloads.produce import accounting
from harness.workloads.produce.anomaly_rows import anomaly_rows
from reports.doubts import doubts, strays, told
from reports.spark.analysis import analyse
from reports.spark.transforms.agreement import MAX_NAMED

pytestmark = [
    pytest.mark.jvm,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

Row = dict[str, Any]
Bend = Callable[[list[Row]], list[Row]]


def without(wanted: Callable[[Row], bool]) -> Bend:
    return lambda rows: [row for row in rows if not wanted(row)]


def changed(wanted: Callable[[Row], bool], **values: object) -> Bend:
    return lambda rows: [{**row, **values} if wanted(row) else row for row in rows]


def copied(n: int, **values: object) -> Bend:
    return lambda rows: [*rows, *({**row, **values} for row in rows if row["identity_n"] == n)]


def added(**values: object) -> Bend:
    return lambda rows: [*rows, {**dict.fromkeys(schemas()["anomalies"].names), **values}]


def swapped(one: int, other: int) -> Bend:
    """Exchange the offsets of two records of the log."""

    def bend(rows: list[Row]) -> list[Row]:
        offsets = {row["identity_n"]: row["offset"] for row in rows}
        new = {one: offsets[other], other: offsets[one]}
        return [{**row, "offset": new.get(row["identity_n"], row["offset"])} for row in rows]

    return bend


def is_record(n: int) -> Callable[[Row], bool]:
    return lambda row: row.get("identity_n", row.get("n")) == n


def is_kind(kind: str) -> Callable[[Row], bool]:
    return lambda row: bool(row["kind"] == kind)


#: A change: its table, the change itself, and the identities whose counts then differ between the two judgements.
SPARK, ONLINE = (0, 1), (1, 0)
BENT: dict[str, tuple[str, Bend, set[tuple[Any, ...]]]] = {
    "dropped": ("log_records", without(is_record(5)), {("lost", 5, 0, 2, None, *SPARK)}),
    "copied": ("log_records", copied(5, offset=90), {("duplicated", 5, 0, 90, None, *SPARK)}),
    "the same place twice": ("log_records", copied(5), {("duplicated", 5, 0, 2, None, *SPARK)}),
    "swapped": ("log_records", swapped(2, 8), {
        ("reordered", 2, 0, 3, "8", *SPARK),
        ("reordered", 5, 0, 2, "8", *SPARK),
    }),
    "damaged": ("log_records", changed(is_record(5), intact=False), {
        ("lost", 5, 0, 2, None, *SPARK),
        ("unexpected", None, 0, 2, "DAMAGED", *SPARK),
    }),
    "foreign": ("log_records", changed(is_record(5), identity_run="another"), {
        ("lost", 5, 0, 2, None, *SPARK),
        ("unexpected", None, 0, 2, "FOREIGN", *SPARK),
    }),
    "never sent": ("log_records", copied(5, identity_n=99, offset=90), {
        ("unexpected", 99, 0, 90, "NEVER_SENT", *SPARK),
    }),
    "reported as failed": ("operations", changed(is_record(5), outcome="fail"), {
        ("unexpected", 5, 0, 2, "REPORTED_FAILED", *SPARK),
    }),
    "key moved": ("log_records", changed(is_record(5), partition=1, offset=0), {
        ("moved-key", None, 0, None, "k2", *SPARK),
        ("moved-key", None, 1, None, "k2", *SPARK),
        ("reordered", 4, 1, 1, "5", *SPARK),
    }),
    "stamped": ("log_records", changed(is_record(5), timestamp_ms=0), {
        ("strange-timestamp", 5, 0, 2, "0", *SPARK),
    }),
    "row removed": ("anomalies", without(is_kind("lost")), {("lost", 1, 1, 7, None, *SPARK)}),
    "row added": ("anomalies", added(kind="lost", n=7), {("lost", 7, None, None, None, *ONLINE)}),
    "row twice": ("anomalies", lambda rows: rows * 2, {("lost", 1, 1, 7, None, 2, 1)}),
    "detail changed": ("anomalies", changed(is_kind("lost"), detail="x"), {
        ("lost", 1, 1, 7, None, *SPARK),
        ("lost", 1, 1, 7, "x", *ONLINE),
    }),
}  # fmt: skip
NOT_BENT = "as it was"
MANY = "many lost"


def small(trial: str, story: Callable[..., Any]) -> Any:
    """Return records with keys 0 to 2 in separate partitions. Record 1 was acknowledged and is lost."""
    told = story(trial, client=ClientRef("mine", "1"), records=12, keys=3)
    for n in range(12):
        told.send(n, 50_000_000_000)
        partition = {2: 0, 1: 1, 0: 2}[n % 3]
        told.result(
            n, 50_000_000_000, 50_001_000_000, "ok", partition, 7 if n == 1 else n // 3 + (n % 3 == 2)
        )
        if n != 1:
            told.store(n, partition, offset=n // 3 + (n % 3 == 2))
    told.counts = accounting.count(told.evidence())
    return told


def bend(folder: Path, table: str, trial: str, how: Bend) -> None:
    path = folder / table / "part-000" / "rows_00000.parquet"
    rows = pq.read_table(path).to_pylist()
    mine = [{**row, "trial": trial} for row in how([row for row in rows if row["trial"] == trial])]
    others = [row for row in rows if row["trial"] != trial]
    in_order = sorted(others + mine, key=lambda row: (row["trial"].encode(), row.get("n") or 0))
    pq.write_table(pa.Table.from_pylist(in_order, schema=schemas()[table]), path)


@pytest.fixture(scope="module")
def bent(spark: Any, new_run: Callable[..., RunStore]) -> Any:
    """Return the analysis of a run in which each trial except one is changed in its own way."""
    folder = pack(new_run(small, [*BENT, NOT_BENT, MANY])).folder
    for trial, (table, how, _) in BENT.items():
        bend(folder, table, trial, how)
    bend(folder, "anomalies", MANY, lambda rows: [*rows, *added_many(40)])
    return analyse(spark, folder.as_uri())


def added_many(count: int) -> list[Row]:
    blank = dict.fromkeys(schemas()["anomalies"].names)
    return [{**blank, "kind": "reordered", "n": n} for n in range(count)]


@pytest.mark.parametrize("trial", [*BENT, NOT_BENT])
def test_every_change_is_named_with_its_identity(bent: Any, trial: str) -> None:
    _, _, expected = BENT.get(trial, ("", None, set()))
    found = [row for row in strays(bent) if row["trial"] == trial]
    columns = ("kind", "n", "partition", "offset", "detail", "judged", "recomputed")
    assert {tuple(row[name] for name in columns) for row in found} == expected
    assert len(found) == len(expected)


def test_only_changed_trials_are_published_as_harness_errors(bent: Any) -> None:
    verdicts = {row["trial"]: row["verdict"] for row in bent.rows("trials")}
    assert verdicts.pop(NOT_BENT) == "pass"
    assert set(verdicts.values()) == {"harness-error"}
    assert doubts(bent).keys() == verdicts.keys()


def test_number_of_stray_records_is_never_limited(bent: Any) -> None:
    found = [row for row in strays(bent) if row["trial"] == MANY]
    assert len(found) == MAX_NAMED
    assert {row["differing"] for row in found} == {40}
    (*named, more) = doubts(bent)[MANY]
    assert (named[0].what, more.what) == (
        "reordered record 0",
        "reordered: 24 further identities that only one side has",
    )
    assert told(doubts(bent)[MANY]).endswith("reordered record 2 1 but 0 and 14 more")


def test_equal_counts_of_different_records_are_a_disagreement(bent: Any) -> None:
    """Counts alone cannot detect this: the same number of records is lost, but other ones."""
    assert "detail changed" not in bent.by_trial("disagreements")
    assert "detail changed" in doubts(bent)


def test_views_of_random_trials_have_the_counted_rows(any_story: Callable[..., Any]) -> None:
    dice = Random(12)
    for number in range(60):
        evidence = any_story(f"t{number}", dice).evidence()
        rows = list(anomaly_rows(evidence))
        counts = accounting.count(evidence)
        for kind in ("lost", "duplicated", "reordered", "unexpected"):
            assert sum(row.kind == kind for row in rows) == counts[kind]
        assert len(set(rows)) == len(rows)
        assert all(isinstance(row, AnomalyRow) for row in rows)
