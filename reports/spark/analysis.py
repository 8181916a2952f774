"""All of Spark's computations on a run: the transforms, chained, and their results as plain rows.

All results are small (per trial, not per record). They leave Spark as Arrow tables, so that they can be written beside
the report and plotted without Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from harness.model.errors import UsageError
from harness.model.rows import SCHEMA_VERSION
from reports.spark.load import load
from reports.spark.transforms import (
    agreement,
    anomalies,
    attempts,
    coverage,
    delivery,
    explained,
    latency,
    matrix,
    measurements,
    outcomes,
    wire,
)
from reports.spark.transforms.stored import stored as stored_records

Row = dict[str, Any]


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
    """Return result table -> DataFrame, computed from the packed tables."""
    trials, operations, faults = tables["trials"], tables["operations"], tables["faults"]
    stored = stored_records(trials, operations, tables["log_records"]).cache()
    wrong = anomalies.anomalies(operations, stored, tables["events"], faults).cache()
    recomputed = delivery.delivery(trials, operations, stored, wrong).cache()
    requests = outcomes.load_requests(trials, tables["frames"], tables["blocked_requests"])
    again = outcomes.outcomes(trials, operations, tables["events"], faults, requests).cache()
    disagreements = (
        agreement.disagreements(trials, tables["delivery"], recomputed)
        .union(agreement.outcomes(trials, tables["outcomes"], again))
        .cache()
    )
    identities = agreement.identities(agreement.matched(trials, tables["anomalies"], wrong)).cache()
    doubted = disagreements.select("trial").union(identities.filter("differing > 0").select("trial"))
    published = matrix.published(trials, doubted)
    made = attempts.attempts(trials, tables["frames"], tables["produce_parts"], faults)
    twice = explained.duplicates(trials, stored, attempts.origins(made, stored))
    resent = wire.resent(tables["produce_parts"], stored).cache()
    traffic = wire.traffic(tables["frames"], resent)
    recovery = latency.recovery(operations, faults)
    sends = latency.classified(trials, operations, faults)
    return {
        "delivery": recomputed,
        "outcomes": again,
        "disagreements": disagreements,
        "identities": identities,
        "explanations": explained.explanations(trials, twice, tables["anomalies"]),
        "trials": published,
        "matrix": matrix.matrix(published),
        "coverage": coverage.coverage(trials, matrix.published(tables["requirements"], doubted)),
        "latency": latency.phases(sends),
        "latency_cells": latency.cells(trials, sends),
        "latency_windows": latency.windows(trials, operations),
        "recovery": recovery,
        "resent": resent,
        "traffic": traffic,
        "measurements": measurements.measurements(trials, recomputed, traffic, recovery),
    }


def analyse(spark: SparkSession, base: str) -> Analysis:
    """Run every transform on the tables packed at ``base``.

    Raises UsageError if the tables are of another version.
    """
    arrow = {name: in_order(frame.toArrow()) for name, frame in results(load(spark, base)).items()}
    versions = set(arrow["trials"]["schema_version"].to_pylist()) - {SCHEMA_VERSION}
    if versions:
        raise UsageError(
            "schema-version",
            "{path} has rows of schema version {found}; this version reads {schema_version}",
            path=base,
            found=min(versions),
            schema_version=SCHEMA_VERSION,
        )
    return Analysis(arrow)


def in_order(table: pa.Table) -> pa.Table:
    """Sort a table by its columns from the left.

    Keys come first in every table. Sorting in Spark would take two more jobs.
    """
    keys = [field.name for field in table.schema if not pa.types.is_nested(field.type)]
    return table.sort_by([(name, "ascending") for name in keys])
