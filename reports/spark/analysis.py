"""All of Spark's computations on a run: the transforms, chained, and their results as plain rows.

Every result concerns one trial, so Spark judges the buckets of a run apart, in one stage that moves no rows
(:mod:`reports.spark.task`). The results are small (per trial, not per record). They leave Spark as Arrow tables, so
that they can be written beside the report and plotted without Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import SparkContext

from harness.model.errors import UsageError
from harness.model.rows import SCHEMA_VERSION
from reports.spark.derived import derived
from reports.spark.load import buckets
from reports.spark.task import judged

Row = dict[str, Any]

#: Results that are read as they were packed, each with its table.
PACKED = {
    "trials": "trials",
    "requirements": "requirements",
    "judged": "delivery",
    "judged_outcomes": "outcomes",
    "judged_consumption": "consumption",
}
#: The results that Spark computes, by trial, and those of :data:`PACKED`.
STATED = frozenset({
    "delivery", "consumption", "identities", "explanations", "latency", "latency_windows", "recovery", "resent",
    "traffic", "outcomes", *PACKED,
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
    groups = spark.parallelize(found, len(found)).flatMap(judged).collect()
    told = [{name: pa.ipc.open_stream(rows).read_all() for name, rows in each.items()} for each in groups]
    return {name: pa.concat_tables(each[name] for each in told) for name in told[0]} | stated


def merged(found: Iterable[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """Return the rows of several analyses of different trials, table by table."""
    found = list(found)
    return {name: in_order(pa.concat_tables(each[name] for each in found)) for name in STATED}


def in_order(table: pa.Table) -> pa.Table:
    """Sort a table by its columns from the left. Keys come first in every table."""
    keys = [field.name for field in table.schema if not pa.types.is_nested(field.type)]
    return table.sort_by([(name, "ascending") for name in keys])
