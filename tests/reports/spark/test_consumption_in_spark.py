"""Trials that consume, judged again by Spark: they agree, and a change of the tables withdraws a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from harness.model.verdicts import Verdict
from harness.plugins import registry
from harness.simulated.judged import RUN_ID, simulate
from harness.storage.parquet_writer import pack
from reports.doubts import doubts
from reports.spark.analysis import analyse
from tests.reports.conftest import write_run

pytestmark = [
    pytest.mark.jvm,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

TRIALS = (("group/kill", "reference"), ("group/join", "mutant-leader_assigns_twice"))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return the tables of two trials, and the trials."""
    found = [simulate(scenario, client, 5, "scripted:4.3.1x1") for scenario, client in TRIALS]
    specs = [evidence.record.spec for evidence, _ in found]
    store = write_run(tmp_path_factory.mktemp("groups"), [], planned=specs, run_id=RUN_ID)
    for evidence, verdict in found:
        store.write_evidence(evidence)
        store.write_verdict(verdict)
    return pack(store, registry.table("anomalies")).folder, [spec.trial for spec in specs]


def test_both_agree_until_a_delivery_is_missing(spark: Any, tables: tuple[Path, list[str]]) -> None:
    folder, (killed, mutant) = tables
    analysis = analyse(spark, folder.as_uri())
    assert analysis.compared == 2 and doubts(analysis) == {}
    assert {row["kind"] for row in analysis.rows("identities")} == {"redelivered", "two-owners"}
    path = folder / "deliveries" / "part-000" / "rows_00000.parquet"
    rows = pq.read_table(path)
    is_it = pc.and_(pc.equal(rows["trial"], killed), pc.equal(rows["offset"], 7))
    pq.write_table(rows.filter(pc.invert(pc.and_(is_it, pc.equal(rows["partition"], 0)))), path)
    analysis = analyse(spark, folder.as_uri())
    told = {(doubt.what, doubt.judged, doubt.recomputed) for doubt in doubts(analysis)[killed]}
    assert ("missed", 0, 1) in told and any(what == "gap at 0/7 (m1)" for what, _, _ in told)
    verdicts = {row["trial"]: row["verdict"] for row in analysis.rows("trials")}
    assert verdicts == {killed: Verdict.HARNESS_ERROR.value, mutant: Verdict.FAIL.value}
