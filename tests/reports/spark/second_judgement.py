"""What the tests of the second judgement of consumers share: the tables of a trial, judged in this process."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

from harness.model.evidence import Evidence
from harness.model.rows import TrialVerdict
from harness.plugins import registry
from harness.plugins.workload import PackedTrial
from harness.storage.parquet_rows import COLUMNS
from harness.storage.parquet_writer import schemas
from reports.spark.load import READ
from reports.spark.task import results
from suites import group_anomalies

Tables = dict[str, pl.DataFrame]
BROKER = "scripted:4.3.1x1"
#: Scenarios that need several nodes.
BROKERS = {"consume/unclean-election": "scripted:4.3.1x3"}


def packed(evidence: Evidence, verdict: TrialVerdict | None = None) -> Tables:
    """Return the tables of one trial as the second judgement reads them."""
    spec = evidence.record.spec
    kind = registry.workload(spec.workload.kind)
    told = verdict or TrialVerdict(
        spec.trial, str(spec.client), spec.broker, spec.scenario, "at-least-once", 1, "pass", "",
        counts=kind.counts(evidence),
    )  # fmt: skip
    trial = PackedTrial(
        evidence.record.run_id, evidence, told, {"group": group_anomalies.rows(evidence) or ()}
    )
    tables: Tables = {}
    for name, schema in schemas().items():
        make = kind.tables[name].rows if name in kind.tables else COLUMNS.get(name)
        columns = dict.fromkeys(schema.names, ()) | (make(trial) if make else {})
        rows = max(map(len, columns.values()))
        columns["trial"] = pa.repeat(spec.trial, rows)
        tables[name] = pl.DataFrame(pa.RecordBatch.from_pydict(dict(columns), schema=schema))
    return tables


def judged(tables: Tables) -> Tables:
    number = pl.col("trial").cast(pl.Enum(tables["trials"]["trial"].unique())).to_physical()
    return results({name: tables[name].select("trial", *READ[name]).with_columns(number) for name in READ})


def strays(found: Tables) -> dict[tuple[Any, ...], tuple[int, int]]:
    """Return each anomaly that the two judgements have another number of times: in the first, and in the second."""
    return {
        (row["kind"], each["partition"], each["offset"], each["detail"]): (each["judged"], each["recomputed"])
        for row in found["identities"].iter_rows(named=True)
        for each in row["named"]
    }
