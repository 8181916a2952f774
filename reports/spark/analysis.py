"""All of Spark's computations on a run: the transforms, chained, and their results as plain rows.

All results are small (per trial, not per record), and each concerns one trial, so parts of a run can be analysed apart.
They leave Spark in one job as Arrow tables, so that they can be written beside the report and plotted without Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from harness.model.errors import UsageError
from harness.model.rows import SCHEMA_VERSION
from reports.spark.derived import derived
from reports.spark.load import Part, load, parts
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


def results(tables: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """Return result table -> DataFrame, computed from the packed tables. Every result has the column ``trial``."""
    trials, operations, faults = tables["trials"], tables["operations"], tables["faults"]
    stored = stored_records(trials, operations, tables["log_records"]).cache()
    wrong = anomalies.anomalies(operations, stored, tables["events"], faults).cache()
    recomputed = delivery.delivery(trials, operations, stored, wrong)
    requests = outcomes.load_requests(trials, tables["frames"], tables["blocked_requests"])
    made = attempts.attempts(trials, tables["frames"], tables["produce_parts"], faults)
    with_copies = repeated(stored).select("trial").distinct()
    origins = attempts.origins(*(each.join(with_copies, "trial", how="left_semi") for each in (made, stored)))
    twice = explained.duplicates(trials, stored, origins)
    resent = wire.resent(tables["produce_parts"], stored)
    return {
        "delivery": recomputed,
        "outcomes": outcomes.outcomes(trials, operations, tables["events"], faults, requests),
        "identities": agreement.identities(agreement.matched(trials, tables["anomalies"], wrong)),
        "explanations": explained.explanations(trials, twice, tables["anomalies"]),
        "latency": latency.phases(latency.classified(trials, operations, faults)),
        "latency_windows": latency.windows(trials, operations),
        "recovery": latency.recovery(operations, faults),
        "resent": resent,
        "traffic": wire.traffic(tables["frames"]),
    }


def analyse(spark: SparkSession, base: str) -> Analysis:
    """Run every transform on the tables packed at ``base``.

    Raises UsageError if the tables are of another version.
    """
    return Analysis(derived(merged(analysed(spark, base))))


def analysed(
    spark: SparkSession, base: str, only: Collection[str] | None = None
) -> list[dict[str, pa.Table]]:
    """Return the results of each part of the tables packed at ``base``, or of those whose folders are ``only``.

    Raises UsageError if the tables are of another version.
    """
    return [_part(spark, part) for part in parts(base) if only is None or part.folder in only]


def merged(found: Iterable[Mapping[str, pa.Table]]) -> dict[str, pa.Table]:
    """Return the rows of several analyses of different trials, table by table."""
    found = list(found)
    return {name: in_order(pa.concat_tables(each[name] for each in found)) for name in STATED}


def _part(spark: SparkSession, part: Part) -> dict[str, pa.Table]:
    tables = load(spark, part)
    stated = {name: part.read(table).replace_schema_metadata(None) for name, table in PACKED.items()}
    versions = set(stated["trials"]["schema_version"].to_pylist()) - {SCHEMA_VERSION}
    if versions:
        raise UsageError(
            "schema-version",
            "{path} has rows of schema version {found}; this version reads {schema_version}",
            path=part.base,
            found=min(versions),
            schema_version=SCHEMA_VERSION,
        )
    found = in_one_job(results(tables))
    spark.catalog.clearCache()
    return {**found, **stated}


def in_one_job(frames: Mapping[str, DataFrame]) -> dict[str, pa.Table]:
    """Compute several results in one job: the union of their rows, each in a column of its own."""
    types = {
        name: f"struct<{', '.join(f'`{field.name}`: {field.dataType.simpleString()}' for field in frame.schema)}>"
        for name, frame in frames.items()
    }
    rows = [
        frame.select(
            *(
                F.struct(*frame.columns).alias(each)
                if each == name
                else F.lit(None).cast(types[each]).alias(each)
                for each in frames
            )
        )
        for name, frame in frames.items()
    ]
    together = reduce(DataFrame.unionAll, rows).toArrow()
    return {name: _rows_of(together[name].combine_chunks()) for name in frames}


def _rows_of(column: Any) -> pa.Table:
    chunk = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    rows = chunk.filter(chunk.is_valid())
    return pa.Table.from_arrays(rows.flatten(), names=[field.name for field in rows.type])


def in_order(table: pa.Table) -> pa.Table:
    """Sort a table by its columns from the left.

    Keys come first in every table. Sorting in Spark would take two more jobs.
    """
    keys = [field.name for field in table.schema if not pa.types.is_nested(field.type)]
    return table.sort_by([(name, "ascending") for name in keys])
