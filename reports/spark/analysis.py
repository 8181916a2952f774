"""All of Spark's computations on a run: the transforms, chained, and their results as plain rows.

Every result concerns one trial, so Spark judges the buckets of a run apart, in one stage that moves no rows. In a task
the transforms are joins, groups and windows over the tables of a bucket as polars' data frames. The results are small
(per trial, not per record). They leave Spark as Arrow tables, so that they can be written beside the report and plotted
without Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
import polars.selectors as cs
import pyarrow as pa
from pyspark import SparkContext

from harness.model.errors import UsageError
from harness.model.rows import SCHEMA_VERSION
from reports.spark.derived import derived
from reports.spark.load import Bucket, buckets
from reports.spark.transforms import (
    agreement,
    anomalies,
    attempts,
    delivery,
    explained,
    latency,
    outcomes,
    wire,
)
from reports.spark.transforms.stored import repeated
from reports.spark.transforms.stored import stored as stored_records

Row = dict[str, Any]

#: Results that are read as they were packed, each with its table.
PACKED = {
    "trials": "trials",
    "requirements": "requirements",
    "judged": "delivery",
    "judged_outcomes": "outcomes",
}
#: The results that Spark computes, by trial, and those of :data:`PACKED`.
STATED = frozenset({
    "delivery", "identities", "explanations", "latency", "latency_windows", "recovery", "resent", "traffic",
    "outcomes", *PACKED,
})  # fmt: skip


@dataclass(frozen=True)
class Analysis:
    """Result table -> rows. The tables are those of :func:`results`."""

    tables: Mapping[str, pa.Table]

    def rows(self, table: str) -> list[Row]:
        """Return the rows of one table, in its order."""
        rows: list[Row] = self.tables[table].to_pylist()
        return rows

    def by_trial(self, table: str) -> dict[str, list[Row]]:
        """Return trial -> its rows of one table, in its order."""
        grouped: dict[str, list[Row]] = {}
        for row in self.rows(table):
            grouped.setdefault(row["trial"], []).append(row)
        return grouped

    @property
    def compared(self) -> int:
        """The number of trials with counts from the judge, which can be compared."""
        return sum(row["counted"] for row in self.rows("trials"))

    @property
    def compared_identities(self) -> int:
        """The number of anomalies that either judgement found, each by its identity."""
        return sum(row["compared"] for row in self.rows("identities"))


def results(tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return result table -> its rows, computed from the tables of some trials. Each has the column ``trial``."""
    trials, operations, faults = tables["trials"], tables["operations"], tables["faults"]
    stored = stored_records(trials, operations, tables["log_records"])
    wrong = anomalies.anomalies(operations, stored, tables["events"], faults)
    requests = outcomes.load_requests(trials, tables["frames"], tables["blocked_requests"])
    return {
        "delivery": delivery.delivery(trials, operations, stored, wrong),
        "outcomes": outcomes.outcomes(trials, operations, tables["events"], faults, requests),
        "identities": agreement.identities(agreement.matched(trials, tables["anomalies"], wrong)),
        "explanations": explained.explanations(trials, explained_copies(tables, stored), tables["anomalies"]),
        "latency": latency.phases(latency.classified(trials, operations, faults)),
        "latency_windows": latency.windows(trials, operations),
        "recovery": latency.recovery(operations, faults),
        "resent": wire.resent(tables["produce_parts"], stored),
        "traffic": wire.traffic(tables["frames"]),
    }


def explained_copies(tables: Mapping[str, pl.DataFrame], stored: pl.DataFrame) -> pl.DataFrame:
    """Return the duplicates with their explanations. Requests matter only in trials that have any."""
    having = repeated(stored).select("trial").unique()
    inside = {name: table.join(having, on="trial", how="semi") for name, table in tables.items()}
    made = attempts.attempts(inside["trials"], inside["frames"], inside["produce_parts"], inside["faults"])
    batches = attempts.origins(made, stored.join(having, on="trial", how="semi"))
    return explained.duplicates(tables["trials"], stored, batches)


def analyse(spark: SparkContext, base: str) -> Analysis:
    """Run every transform on the tables packed at ``base``. Errors are those of :func:`analysed`."""
    return Analysis(derived(merged([analysed(spark, base)])))


def analysed(spark: SparkContext, base: str, only: Collection[str] | None = None) -> dict[str, pa.Table]:
    """Return the results of the tables packed at ``base``, or of the parts whose folders are ``only``.

    Raises UsageError if there are no tables, or if they are of another version.
    """
    found = buckets(base, only)
    stated = {
        name: pa.concat_tables(bucket.read(table).replace_schema_metadata(None) for bucket in found)
        for name, table in PACKED.items()
    }
    versions = set(stated["trials"]["schema_version"].to_pylist()) - {SCHEMA_VERSION}
    if versions:
        raise UsageError(
            "schema-version",
            "{path} has rows of schema version {found}; this version reads {schema_version}",
            path=base,
            found=min(versions),
            schema_version=SCHEMA_VERSION,
        )
    judged = spark.parallelize(found, len(found)).flatMap(_judged).collect()
    told = [{name: pa.ipc.open_stream(rows).read_all() for name, rows in each.items()} for each in judged]
    return {name: pa.concat_tables(each[name] for each in told) for name in told[0]} | stated


def merged(found: Iterable[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """Return the rows of several analyses of different trials, table by table."""
    found = list(found)
    return {name: in_order(pa.concat_tables(each[name] for each in found)) for name in STATED}


def _judged(bucket: Bucket) -> Iterator[dict[str, bytes]]:
    """Yield the results of some trials of a bucket after others. Spark calls it in one process for each core."""
    for tables in bucket.groups():
        yield {name: _written(frame) for name, frame in results(tables).items()}


def _written(frame: pl.DataFrame) -> bytes:
    """Return rows as an Arrow stream. Numbers that count are plain numbers, as in the packed tables."""
    rows = frame.with_columns(cs.unsigned_integer().cast(pl.Int64)).to_arrow()
    rows = rows.cast(pa.schema([field.with_type(_plain(field.type)) for field in rows.schema]))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return bytes(sink.getvalue())


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return an Arrow type without the variants that polars prefers."""
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_list(kind):
        return pa.list_(_plain(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type)) for field in kind.fields])
    return kind


def in_order(table: pa.Table) -> pa.Table:
    """Sort a table by its columns from the left. Keys come first in every table."""
    keys = [field.name for field in table.schema if not pa.types.is_nested(field.type)]
    return table.sort_by([(name, "ascending") for name in keys])
