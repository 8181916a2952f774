"""Recompute the outcomes of each trial: how many records were done, how long none was, how soon they came back.

The definitions are those of :mod:`harness.judging.availability`. A *gap* is a time in which records wait and none is
acknowledged. The waits of a trial are merged into periods (gaps and islands), each of which is cut at its
acknowledgements. All of it is computed with window functions, and shares no code with the online judgement.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from harness.storage.parquet_schema import OUTCOMES
from reports.spark.transforms.stored import outcome_is, said

NS_PER_MS = 1_000_000
#: The longest gap that still counts as steady, without linger.ms.
STEADY_MS = 1_000


def outcomes(
    trials: DataFrame, operations: DataFrame, events: DataFrame, faults: DataFrame, requests: DataFrame
) -> DataFrame:
    """Return ``trial`` and the columns of ``OUTCOMES``, one row for each trial.

    ``requests``: see :func:`load_requests`.
    """
    of_trial = _moments(trials, events, faults)
    waits = _waits(operations, of_trial)
    found = (
        of_trial.join(_said(operations), "trial", how="left")
        .join(_latencies(operations), "trial", how="left")
        .join(_gaps(waits, of_trial), "trial", how="left")
        .join(requests, "trial", how="left")
    )
    recovered = _recovery(found, operations, waits)
    counts = ("offered", "acked", "failed", "unknown", "requests", "request_bytes")
    return found.join(recovered, "trial", how="left").fillna(0, list(counts)).select("trial", *OUTCOMES)


def load_requests(trials: DataFrame, frames: DataFrame, blocked: DataFrame) -> DataFrame:
    """Return ``trial, requests, request_bytes``: those of the API that carries the load, blocked ones included."""
    sent = frames.filter(F.col("kind") == "request").select("trial", "api", "size_bytes")
    return (
        sent.union(blocked.select("trial", "api", "size_bytes"))
        .join(trials.select("trial", "load_api"), "trial", how="inner")
        .filter(F.col("api") == F.col("load_api"))
        .groupBy("trial")
        .agg(F.count("*").alias("requests"), F.sum("size_bytes").alias("request_bytes"))
    )


def _moments(trials: DataFrame, events: DataFrame, faults: DataFrame) -> DataFrame:
    """Return ``trial, until_ns, after_ns, limit_ns``: the end of waiting and of faults, and the longest steady gap."""
    last = events.groupBy("trial").agg(F.max("mono_ns").alias("last_ns"))
    ended = faults.groupBy("trial").agg(F.max("effective_end_ns").alias("after_ns"))
    until = F.coalesce("final_ns", "end_ns", "last_ns", F.lit(0)).alias("until_ns")
    limit = ((F.coalesce("linger_ms", F.lit(0)) + STEADY_MS) * NS_PER_MS).alias("limit_ns")
    return (
        trials.join(last, "trial", how="left")
        .join(ended, "trial", how="left")
        .select("trial", until, "after_ns", limit)
    )


def _said(operations: DataFrame) -> DataFrame:
    return operations.groupBy("trial").agg(F.count("*").alias("offered"), *said())


def _latencies(operations: DataFrame) -> DataFrame:
    """Return ``trial, p50_ns, p99_ns`` by nearest rank, in whole numbers."""
    took = F.array_sort(F.collect_list(F.col("complete_ns") - F.col("invoke_ns")))
    told = operations.filter(F.col("complete_ns").isNotNull()).groupBy("trial").agg(took.alias("took"))
    return told.select("trial", _ranked(50).alias("p50_ns"), _ranked(99).alias("p99_ns"))


def _ranked(percent: int) -> Column:
    rank = F.floor((F.size("took") * percent + 99) / 100).cast("int")
    return F.element_at("took", rank)


def _waits(operations: DataFrame, of_trial: DataFrame) -> DataFrame:
    """Return ``trial, begin_ns, end_ns, island``: the waits, numbered by the period without a break."""
    in_order = Window.partitionBy("trial").orderBy("begin_ns", "end_ns")
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    is_new = F.coalesce(F.col("begin_ns") > F.max("end_ns").over(before), F.lit(True))
    return (
        operations.join(of_trial.select("trial", "until_ns"), "trial", how="inner")
        .select(
            "trial",
            F.col("invoke_ns").alias("begin_ns"),
            F.coalesce("complete_ns", "until_ns").alias("end_ns"),
            outcome_is("ok").alias("acked"),
        )
        .withColumn("island", F.sum(is_new.cast("int")).over(in_order))
    )


def _gaps(waits: DataFrame, of_trial: DataFrame) -> DataFrame:
    """Return ``trial, longest_gap_ms, steady_from_ns``: the end of what was too long, null if nothing was."""
    island = ("trial", "island")
    ends = waits.groupBy(*island).agg(F.min("begin_ns").alias("first"), F.max("end_ns").alias("last"))
    cuts = (
        ends.select(*island, F.explode(F.array("first", "last")).alias("at_ns"))
        .union(waits.filter("acked").select(*island, F.col("end_ns").alias("at_ns")))
        .withColumn("from_ns", F.lag("at_ns").over(Window.partitionBy(*island).orderBy("at_ns")))
        .filter(F.col("from_ns") < F.col("at_ns"))
        .withColumn("gap_ns", F.col("at_ns") - F.col("from_ns"))
    )
    too_long = F.when(F.col("gap_ns") > F.col("limit_ns"), F.col("from_ns") + 1)
    return (
        cuts.join(of_trial.select("trial", "limit_ns"), "trial", how="inner")
        .groupBy("trial")
        .agg(
            F.floor(F.max("gap_ns") / NS_PER_MS).alias("longest_gap_ms"),
            F.max(too_long).alias("steady_from_ns"),
        )
    )


def _recovery(found: DataFrame, operations: DataFrame, waits: DataFrame) -> DataFrame:
    """Return ``trial, first_ack_ms, steady_ack_ms, recovered``; all are null if no fault ended in the trial."""
    last = waits.groupBy("trial").agg(F.max("end_ns").alias("waited_until_ns"))
    moments = (
        found.filter(F.col("after_ns").isNotNull())
        .select("trial", "after_ns", "steady_from_ns")
        .join(last, "trial", how="left")
    )
    since = F.when(F.col("complete_ns") >= F.col("after_ns"), F.col("complete_ns"))
    steady = F.when(F.col("complete_ns") >= F.greatest("after_ns", "steady_from_ns"), F.col("complete_ns"))
    acks = operations.filter(outcome_is("ok")).select("trial", "complete_ns")
    return (
        moments.join(acks, "trial", how="left")
        .groupBy("trial", "after_ns", "waited_until_ns")
        .agg(F.min(since).alias("first_ns"), F.min(steady).alias("steady_ns"))
        .select(
            "trial",
            F.floor((F.col("first_ns") - F.col("after_ns")) / NS_PER_MS).alias("first_ack_ms"),
            F.floor((F.col("steady_ns") - F.col("after_ns")) / NS_PER_MS).alias("steady_ack_ms"),
            F.when(F.col("waited_until_ns") >= F.col("after_ns"), F.col("steady_ns").isNotNull()).alias(
                "recovered"
            ),
        )
    )
