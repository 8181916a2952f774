"""The latency of acknowledgements, by whether a fault was in effect.

A send that was made before load began is ``warm-up``: it waited for connections and metadata, and says nothing about
the rest. Any other send belongs to ``during`` if a fault was in effect at any moment between its invocation and its
result, to ``before`` if it ended before the first fault began, else to ``after`` (which includes the gaps between two
faults). If no fault of the trial took effect, it is ``calm``. Percentiles are exact, and of acknowledged sends only.
Sends that failed or whose outcome is unknown are counted separately.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from reports.spark.transforms.stored import said

WINDOW_MS = 250
NS_PER_MS = 1_000_000
PERCENTILES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "max_ms": 1.0}


def classified(trials: DataFrame, operations: DataFrame, faults: DataFrame) -> DataFrame:
    """Return ``trial, phase, outcome, invoke_ns, complete_ns``: each send with its phase."""
    window = F.struct(F.col("effective_start_ns").alias("start"), F.col("effective_end_ns").alias("end"))
    windows = (
        faults.filter(F.col("effective_start_ns").isNotNull())
        .groupBy("trial")
        .agg(F.collect_list(window).alias("windows"))
    )
    return (
        operations.join(trials.select("trial", "load_ns"), "trial", how="inner")
        .join(windows, "trial", how="left")
        .select("trial", _phase().alias("phase"), "outcome", "invoke_ns", "complete_ns")
    )


def phases(classified: DataFrame) -> DataFrame:
    """Return ``trial, phase, acked, failed, unknown, p50_ms, p95_ms, p99_ms, max_ms``."""
    return (
        classified.groupBy("trial", "phase")
        .agg(*said(), _percentiles())
        .select("trial", "phase", "acked", "failed", "unknown", *_told())
    )


def windows(trials: DataFrame, operations: DataFrame) -> DataFrame:
    """Return ``trial, from_ms, offered, acked, p50_ms, p95_ms, max_ms`` per ``WINDOW_MS`` of calls since load began.

    ``acked`` of the ``offered`` sends were acknowledged, at any time. The latencies are those of these.
    """
    since_ns = F.col("invoke_ns") - F.col("load_ns")
    from_ms = F.floor(since_ns / (WINDOW_MS * NS_PER_MS)) * WINDOW_MS
    return (
        operations.join(
            trials.filter(F.col("load_ns").isNotNull()).select("trial", "load_ns"), "trial", how="inner"
        )
        .groupBy("trial", from_ms.alias("from_ms"))
        .agg(
            F.count("*").alias("offered"),
            F.count_if(F.col("outcome") == "ok").alias("acked"),
            _percentiles(),
        )
        .select("trial", "from_ms", "offered", "acked", *_told())
        .drop("p99_ms")
    )


def recovery(operations: DataFrame, faults: DataFrame) -> DataFrame:
    """Return ``trial, index, recovered_ms``: from a fault's end to the next acknowledgement, null if there is none."""
    ended = faults.filter(F.col("effective_end_ns").isNotNull()).select("trial", "index", "effective_end_ns")
    acks = operations.filter(F.col("outcome") == "ok").select(F.col("trial").alias("of"), "complete_ns")
    later = (F.col("trial") == F.col("of")) & (F.col("complete_ns") >= F.col("effective_end_ns"))
    first_ms = (F.min("complete_ns") - F.col("effective_end_ns")) / NS_PER_MS
    return (
        ended.join(acks, later, how="left")
        .groupBy("trial", "index", "effective_end_ns")
        .agg(first_ms.alias("recovered_ms"))
        .select("trial", "index", "recovered_ms")
    )


def _phase() -> Column:
    ended = F.coalesce(F.col("complete_ns"), F.lit(2**63 - 1))

    def overlaps(window: Column) -> Column:
        return (F.col("invoke_ns") < window["end"]) & (ended > window["start"])

    first = F.array_min(F.col("windows"))["start"]
    return (
        F.when(F.col("invoke_ns") < F.col("load_ns"), "warm-up")
        .when(F.col("windows").isNull(), "calm")
        .when(F.exists("windows", overlaps), "during")
        .when(ended <= first, "before")
        .otherwise("after")
    )


def _percentiles() -> Column:
    """Return all percentiles as a list: each aggregate by itself would count the values again."""
    took_ms = F.when(F.col("outcome") == "ok", (F.col("complete_ns") - F.col("invoke_ns")) / NS_PER_MS)
    return F.percentile(took_ms, F.array(*map(F.lit, PERCENTILES.values()))).alias("percentiles")


def _told() -> list[Column]:
    return [F.element_at("percentiles", at).alias(name) for at, name in enumerate(PERCENTILES, 1)]
