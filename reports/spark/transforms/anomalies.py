"""Find the wrong records: ``harness.workloads.produce.anomaly_rows``, recomputed with joins and windows.

No code of the online views is used here. The two share only the reading of the log and of the client's events. Every
function returns ``trial`` and the columns of :data:`IDENTITY`.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from reports.spark.transforms.stored import RECORD, outcome_is, repeated

#: The columns by which two anomalies of one trial are the same.
IDENTITY = ("kind", "n", "partition", "offset", "detail")
#: What one producer wrote to one partition.
_LOG = ("trial", "producer", "topic", "partition")
#: The tolerance for timestamps before the client's first event or after its last.
SLACK_MS = 5_000


def anomalies(operations: DataFrame, stored: DataFrame, events: DataFrame, faults: DataFrame) -> DataFrame:
    """Return all anomalies. ``stored``: see :mod:`reports.spark.transforms.stored`."""
    found = (
        lost(operations, stored),
        duplicated(stored),
        reordered(stored),
        unexpected(stored),
        moved_keys(stored, faults),
        strange_timestamps(stored, events),
    )
    return reduce(DataFrame.unionByName, found)


def lost(operations: DataFrame, stored: DataFrame) -> DataFrame:
    """Return the acknowledged records without a copy."""
    copies = stored.filter(F.col("outcome").isNotNull()).select("trial", "n")
    return _rows(operations.filter(outcome_is("ok")).join(copies, ["trial", "n"], how="left_anti"), "lost")


def duplicated(stored: DataFrame) -> DataFrame:
    """Return the copies of each record after its first."""
    copies = Window.partitionBy(*RECORD).orderBy("partition", "offset")
    numbered = repeated(stored).withColumn("copy", F.row_number().over(copies))
    return _rows(numbered.filter(F.col("copy") > 1), "duplicated")


def reordered(stored: DataFrame) -> DataFrame:
    """Return acknowledged records whose first copy in a partition is after that of a record sent later.

    ``detail`` is the latest-sent such record.
    """
    before = Window.partitionBy(*_LOG).orderBy("offset").rowsBetween(Window.unboundedPreceding, -1)
    acked = stored.filter(outcome_is("ok"))
    firsts = repeated(acked).groupBy(*_LOG, "n").agg(F.min("offset").alias("offset"))
    only = acked.filter(F.col("copies") == 1).select(*_LOG, "n", "offset")
    placed = only.unionByName(firsts).withColumn("furthest", F.max("n").over(before))
    return _rows(placed.filter(F.col("n") < F.col("furthest")), "reordered", F.col("furthest"))


def unexpected(stored: DataFrame) -> DataFrame:
    """Return the log records that were not sent, or that the client reported as failed."""
    why = (
        F.when(~F.col("intact"), "DAMAGED")
        .when(F.col("n").isNull(), "FOREIGN")
        .when(F.col("outcome").isNull(), "NEVER_SENT")
        .when(outcome_is("fail"), "REPORTED_FAILED")
    )
    return _rows(stored.filter(why.isNotNull()), "unexpected", why)


def moved_keys(stored: DataFrame, faults: DataFrame) -> DataFrame:
    """Return keys in more than one partition, plus one more for each time that the topic grew."""
    has_grown = (F.col("kind") == "topic_growth") & F.col("effective_start_ns").isNotNull()
    growths = faults.filter(has_grown).groupBy("trial").agg(F.count("*").alias("growths"))
    of_key = ("trial", "producer", "topic", "key")
    keyed = stored.filter(F.col("n").isNotNull() & F.col("key").isNotNull()).select(*of_key, "partition")
    ends = keyed.groupBy(*of_key).agg(F.min("partition").alias("least"), F.max("partition").alias("most"))
    places = (
        keyed.join(ends.filter("least < most"), list(of_key), how="left_semi")
        .groupBy(*of_key)
        .agg(F.collect_set("partition").alias("partitions"))
        .join(growths, "trial", how="left")
    )
    moved = places.filter(F.size("partitions") > 1 + F.coalesce("growths", F.lit(0)))
    each = moved.select("trial", "key", F.explode("partitions").alias("partition"))
    nothing = F.lit(None).cast("long")
    return _rows(each.withColumns({"n": nothing, "offset": nothing}), "moved-key", F.col("key"))


def strange_timestamps(stored: DataFrame, events: DataFrame) -> DataFrame:
    """Return records with timestamps outside the time between the client's first and last event (its wall clock)."""
    wall_ms = F.expr("wall_ns div 1000000")
    span = (
        events.filter(F.col("wall_ns") > 0)
        .groupBy("trial")
        .agg(
            (F.min(wall_ms) - SLACK_MS).alias("first_ms"),
            (F.max(wall_ms) + SLACK_MS).alias("last_ms"),
        )
    )
    odd = ~F.col("timestamp_ms").between(F.col("first_ms"), F.col("last_ms"))
    return _rows(
        stored.join(span, "trial", how="inner").filter(odd), "strange-timestamp", F.col("timestamp_ms")
    )


def _rows(found: DataFrame, kind: str, detail: Column | None = None) -> DataFrame:
    """Return ``found`` (with trial, n, partition, offset) as anomalies of one kind."""
    told = F.lit(None) if detail is None else detail
    return found.select(
        "trial", F.lit(kind).alias("kind"), "n", "partition", "offset", told.cast("string").alias("detail")
    )
