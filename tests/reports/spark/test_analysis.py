"""Spark's results, compared with the online counts and with counting by hand. All tests share one session."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import structs

from harness.model.errors import UsageError
from harness.model.rows import Ending
from harness.model.verdicts import Outcome
from harness.storage.parquet_writer import pack
from harness.storage.run_store import RunStore
from harness.workloads.produce import accounting
from harness.workloads.produce.tables import ANOMALIES, DELIVERY
from reports.spark.analysis import analyse
from reports.spark.load import READ, buckets
from testkit.codes import raises_code

#: PySpark 4.0 leaves its sockets to the garbage collector.
pytestmark = [
    pytest.mark.jvm,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

HISTORIES = 120
WARM_UPS = 40


@pytest.mark.parametrize("name", ["a b", "it's", 'x"y', "50% #1?", "[a]{b}*", "back\\slash", "é:ü", "a%20b"])
@pytest.mark.parametrize("as_uri", [False, True])
def test_tables_are_read_from_a_folder_with_any_name(run_of, story, tmp_path, name, as_uri):
    folder = (tmp_path / name).absolute()
    shutil.copytree(pack(run_of(story("one"))).folder, folder)
    [bucket] = buckets(folder.as_uri() if as_uri else str(folder))
    assert [group["trials"].height for group in bucket.groups()] == [1]


def counted_by_hand(story: Any) -> dict[str, int]:
    """Return the counts by the definitions of ``harness.workloads.produce.accounting``, applied literally in quadratic
    time.
    """
    evidence = story.evidence()
    sends = evidence.operations
    records = [
        (record.partition, record.offset, identity.n if identity and evidence.is_ours(identity) else None)
        for record, identity in zip(evidence.log, evidence.identities, strict=True)
        if not record.control
    ]
    numbers = [n for _, _, n in records if n is not None]
    acked = {n for n, send in sends.items() if send.outcome is Outcome.OK}
    firsts = [
        (partition, offset, n)
        for partition, offset, n in records
        if n in acked and not any(p == partition and m == n and o < offset for p, o, m in records)
    ]
    outcomes = Counter(send.outcome for send in sends.values())
    return {
        "sent": len(sends),
        "acked": len(acked),
        "failed": outcomes[Outcome.FAIL],
        "unknown": outcomes[Outcome.INFO],
        "in_log": len(records),
        "lost": len(acked - set(numbers)),
        "duplicated": len(numbers) - len(set(numbers)),
        "reordered": sum(any(p == q and o < at and m > n for q, o, m in firsts) for p, at, n in firsts),
        "unexpected": sum(n not in sends or sends[n].outcome is Outcome.FAIL for _, _, n in records),
    }


def test_spark_online_checks_and_hand_count_agree_on_random_histories(
    spark: Any, any_story: Callable[..., Any], run_of: Callable[..., RunStore]
) -> None:
    dice = Random(20_260_301)
    stories = [any_story(f"random-{number}", dice) for number in range(HISTORIES)]
    by_hand = {story.spec.trial: counted_by_hand(story) for story in stories}
    for story in stories:
        assert accounting.count(story.evidence()) == by_hand[story.spec.trial], story.spec.trial
        uncounted = story.ending is not Ending.COMPLETE
        story.counts = {"sent": 99} if uncounted else by_hand[story.spec.trial]

    analysis = analyse(spark, str(pack(run_of(*stories)).folder))

    by_spark = {row.pop("trial"): row for row in analysis.rows("delivery")}
    assert by_spark == by_hand
    assert all(any(counts[name] for counts in by_hand.values()) for name in DELIVERY)
    assert analysis.rows("disagreements") == []
    identities = analysis.rows("identities")
    assert {row["kind"] for row in identities} == set(ANOMALIES)
    assert [row for row in identities if row["differing"]] == []
    complete = sum(story.ending is Ending.COMPLETE for story in stories)
    assert 0 < complete < HISTORIES
    assert analysis.compared == complete


@pytest.fixture(scope="module")
def whole(spark: Any, whole_run: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return (stories by trial, analysis) of a run of four whole trials, two with changed verdicts."""
    stories, store = whole_run(tmp_path_factory.mktemp("whole"))
    return stories, analyse(spark, str(pack(store).folder))


def test_changed_count_is_a_disagreement_and_withdraws_the_verdict(whole: Any) -> None:
    _, analysis = whole
    assert analysis.rows("disagreements") == [
        {"trial": "alo-reference", "count": "duplicated", "judged": 879, "recomputed": 880},
        {"trial": "alo-reference", "count": "lost", "judged": 3, "recomputed": 0},
    ]
    verdicts = {row["trial"]: row["verdict"] for row in analysis.rows("trials")}
    assert verdicts == {
        "alo-confluent": "pass",
        "alo-reference": "harness-error",
        "calm": "pass",
        "idp-reference": "inconclusive",
    }
    cells = {
        (row["guarantee"], row["client"]): row
        for row in analysis.rows("matrix")
        if "calm" not in row["scenario"]
    }
    assert cells["at-least-once", "reference@0.1.0"]["verdict"] == "harness-error"
    assert cells["idempotent", "reference@0.1.0"]["trials"] == [
        {"seed": 7, "verdict": "inconclusive", "trial": "idp-reference"}
    ]


def test_latencies_are_exact_and_grouped_by_fault_phase(whole: Any) -> None:
    stories, analysis = whole
    rows = analysis.by_trial("latency")
    assert [row["phase"] for row in rows["calm"]] == ["calm", "warm-up"]
    assert {row["phase"] for row in rows["alo-reference"]} == {"warm-up", "before", "during", "after"}
    for trial, story in stories.items():
        expected: dict[str, list[float]] = {}
        windows = [row.effective_ns for row in story.faults]
        for send in story.evidence().operations.values():
            took = (send.complete_ns - send.invoke_ns) / 1e6
            expected.setdefault(_phase(send, windows), []).append(took)
        assert {row["phase"]: row["acked"] for row in rows[trial]} == {
            phase: len(took) for phase, took in expected.items()
        }
        for row in rows[trial]:
            took = sorted(expected[row["phase"]])
            assert row["max_ms"] == took[-1]
            assert row["p50_ms"] == pytest.approx(median(took))
            assert took[0] <= row["p50_ms"] <= row["p95_ms"] <= row["p99_ms"] <= row["max_ms"]


def _phase(send: Any, windows: list[tuple[int, int]]) -> str:
    if send.n < WARM_UPS:
        return "warm-up"
    if not windows:
        return "calm"
    if any(send.invoke_ns < end and send.complete_ns > start for start, end in windows):
        return "during"
    return "before" if send.complete_ns <= windows[0][0] else "after"


def test_every_acknowledged_send_is_in_one_window(whole: Any) -> None:
    _, analysis = whole
    for rows in analysis.by_trial("latency_windows").values():
        assert sum(row["acked"] for row in rows) == sum(row["offered"] for row in rows) == 2_400
        assert all(row["from_ms"] % 250 == 0 for row in rows)
        assert rows[0]["from_ms"] < 0 <= rows[1]["from_ms"]


def test_recovery_is_the_first_acknowledgement_after_each_fault(whole: Any) -> None:
    stories, analysis = whole
    rows = analysis.by_trial("recovery")
    assert "calm" not in rows
    for trial, recovered in rows.items():
        sends = stories[trial].evidence().operations.values()
        for row, fault in zip(recovered, stories[trial].faults, strict=True):
            end = fault.effective_ns[1]
            first = min(send.complete_ns for send in sends if send.complete_ns >= end)
            assert row["recovered_ms"] == pytest.approx((first - end) / 1e6)


def test_retries_are_recognized_by_bytes_and_by_stored_copies(whole: Any) -> None:
    stories, analysis = whole
    resent = analysis.by_trial("resent")
    assert "calm" not in resent
    for trial, story in stories.items():
        crcs: set[tuple[int, int]] = set()
        expected = set()
        for number, frame in enumerate(story.frames):
            for part in frame.produce if frame.kind == "request" else ():
                if (part.partition, part.crc) in crcs:
                    expected.add(number)
                crcs.add((part.partition, part.crc))
        assert {row["frame"] for row in resent.get(trial, [])} == expected
    traffic = {row["trial"]: row for row in analysis.rows("traffic")}
    assert traffic["calm"]["resent_parts"] == 0
    assert traffic["alo-confluent"]["resent_parts"] == len(resent["alo-confluent"])


def test_rebuilt_batch_is_recognized_by_its_stored_copies(
    spark: Any, whole_story: Callable[..., Any], run_of: Callable[..., RunStore]
) -> None:
    story = whole_story("anew", records=600)
    known = {number for number, frame in enumerate(story.frames) if _repeats(story, frame)}
    parts = [
        structs.replace(part, crc=number)
        for number, frame in enumerate(story.frames)
        for part in frame.produce
    ]
    story.frames = [
        structs.replace(frame, produce=(part,)) for frame, part in zip(story.frames, parts, strict=True)
    ]
    analysis = analyse(spark, str(pack(run_of(story)).folder))
    assert known
    assert {row["frame"] for row in analysis.rows("resent")} == known


def _repeats(story: Any, frame: Any) -> bool:
    """Return, from the log alone, whether a request repeated its batch."""
    if frame.kind != "request":
        return False
    (answer,) = (
        other.produce[0]
        for other in story.frames
        if other.kind == "response" and other.correlation_id == frame.correlation_id
    )
    copies = story.evidence().copies
    at = (answer.partition, answer.base_offset)
    return any(
        (record.partition, record.base_offset) == at for found in copies.values() for record in found[1:]
    )


def test_requirements_are_covered_by_client(whole: Any) -> None:
    _, analysis = whole
    rows = analysis.rows("coverage")
    assert {(row["id"], row["client"], row["verdict"]): row["trials"] for row in rows} == {
        ("E2E-DEL-01", "confluent-kafka@2.3.0", "pass"): 1,
        ("E2E-DEL-01", "reference@0.1.0", "harness-error"): 1,
        ("E2E-DEL-01", "reference@0.1.0", "pass"): 2,
        ("E2E-DEL-02", "confluent-kafka@2.3.0", "pass"): 1,
        ("E2E-DEL-02", "reference@0.1.0", "harness-error"): 1,
        ("E2E-DEL-02", "reference@0.1.0", "pass"): 2,
    }


def test_measurements_add_up_over_a_cell(whole: Any) -> None:
    _, analysis = whole
    rows = {(row["scenario"], row["guarantee"], row["client"]): row for row in analysis.rows("measurements")}
    retried = rows["produce/dropped-response", "at-least-once", "confluent-kafka@2.3.0"]
    assert (retried["trials"], retried["duplicated"]) == (1, 880)
    assert rows["produce/calm", "at-least-once", "reference@0.1.0"]["slowest_recovery_ms"] is None


@pytest.mark.parametrize("most", [1, 100, 10**9])
def test_groups_of_trials_have_all_rows_of_a_bucket(any_story, run_of, monkeypatch, most):
    monkeypatch.setattr("harness.storage.parquet_writer.ROWS_PER_GROUP", most)
    dice = Random(1)
    folder = pack(run_of(*(any_story(f"é {number}", dice) for number in range(5)))).folder
    (bucket,) = buckets(folder.as_uri())
    groups = list(bucket.groups())
    assert len(groups) == 1 if most > 10**6 else len(groups) > 1
    for table, columns in READ.items():
        read = [row for group in groups for row in group[table].to_dicts()]
        assert read == pq.read_table(folder / table, columns=["trial", *columns]).to_pylist()
    for group in groups:
        trials = set(group["trials"]["trial"])
        assert all(trials.issuperset(rows["trial"]) for rows in group.values())


def test_foreign_or_missing_table_is_reported(
    spark: Any, tmp_path: Path, any_story: Callable[..., Any], run_of: Callable[..., RunStore]
) -> None:
    with raises_code(UsageError, "not-a-table"):
        buckets(str(tmp_path / "nothing"))
    folder = pack(run_of(any_story("one", Random(1)))).folder
    path = folder / "operations" / "part-000" / "rows_00000.parquet"
    table = pq.read_table(path)
    with pq.ParquetWriter(path, table.schema) as writer:
        for _ in range(2):
            writer.write_table(table)
    with raises_code(UsageError, "not-a-table", path=re.compile("operations"), why=re.compile("row groups")):
        analyse(spark, str(folder))
    pq.write_table(table.drop_columns(["outcome"]), path)
    with raises_code(UsageError, "table-of-another-version", columns=re.compile("outcome")):
        analyse(spark, str(folder))


def test_rows_of_another_schema_version_are_refused(
    spark: Any, any_story: Callable[..., Any], run_of: Callable[..., RunStore]
) -> None:
    folder = pack(run_of(any_story("one", Random(1)))).folder
    path = folder / "trials" / "part-000" / "rows_00000.parquet"
    table = pq.read_table(path)
    place = table.schema.get_field_index("schema_version")
    pq.write_table(table.set_column(place, table.schema.field(place), pa.array([99])), path)
    with raises_code(UsageError, "schema-version", found=99):
        analyse(spark, str(folder))
