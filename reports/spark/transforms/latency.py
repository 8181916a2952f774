"""The latency of acknowledgements, by whether a fault was in effect.

A send that was made before load began is ``warm-up``: it waited for connections and metadata, and says nothing about
the rest. Any other send belongs to ``during`` if a fault was in effect at any moment between its invocation and its
result, to ``before`` if it ended before the first fault began, else to ``after`` (which includes the gaps between two
faults). If no fault of the trial took effect, it is ``calm``. Percentiles are exact, and of acknowledged sends only.
Sends that failed or whose outcome is unknown are counted separately.
"""

from __future__ import annotations

import polars as pl

from reports.spark.transforms.stored import outcome_is, said
from reports.spark.transforms.units import NS_PER_MS, in_ms

WINDOW_MS = 250
PERCENTILES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "max_ms": 1.0}
_FOREVER_NS = 2**63 - 1


def classified(trials: pl.DataFrame, operations: pl.DataFrame, faults: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, phase, outcome, invoke_ns, complete_ns``: each send with its phase."""
    windows = faults.filter(pl.col("effective_start_ns").is_not_null())
    firsts = windows.group_by("trial").agg(first_ns=pl.col("effective_start_ns").min())
    sends = operations.with_columns(ended_ns=pl.col("complete_ns").fill_null(_FOREVER_NS))
    during = (
        sends.select("trial", "n", "invoke_ns", "ended_ns")
        .join(windows.select("trial", "effective_start_ns", "effective_end_ns"), on="trial")
        .filter(
            pl.col("invoke_ns") < pl.col("effective_end_ns"),
            pl.col("ended_ns") > pl.col("effective_start_ns"),
        )
        .select("trial", "n", during=True)
        .unique()
    )
    phase = (
        pl.when(pl.col("invoke_ns") < pl.col("load_ns"))
        .then(pl.lit("warm-up"))
        .when(pl.col("first_ns").is_null())
        .then(pl.lit("calm"))
        .when("during")
        .then(pl.lit("during"))
        .when(pl.col("ended_ns") <= pl.col("first_ns"))
        .then(pl.lit("before"))
        .otherwise(pl.lit("after"))
    )
    return (
        sends.join(trials.select("trial", "load_ns"), on="trial")
        .join(firsts, on="trial", how="left")
        .join(during, on=["trial", "n"], how="left")
        .select("trial", phase.alias("phase"), "outcome", "invoke_ns", "complete_ns")
    )


def phases(classified: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, phase, acked, failed, unknown, p50_ms, p95_ms, p99_ms, max_ms``."""
    return (
        classified.group_by("trial", "phase")
        .agg(*said(), _took_ms())
        .select("trial", "phase", "acked", "failed", "unknown", *_percentiles())
    )


def windows(trials: pl.DataFrame, operations: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, from_ms, offered, acked, p50_ms, p95_ms, max_ms`` per ``WINDOW_MS`` of calls since load began.

    ``acked`` of the ``offered`` sends were acknowledged, at any time. The latencies are those of these.
    """
    since_ns = pl.col("invoke_ns") - pl.col("load_ns")
    from_ms = since_ns // (WINDOW_MS * NS_PER_MS) * WINDOW_MS
    loads = trials.filter(pl.col("load_ns").is_not_null()).select("trial", "load_ns")
    return (
        operations.join(loads, on="trial")
        .group_by("trial", from_ms.alias("from_ms"))
        .agg(_took_ms(), offered=pl.len(), acked=outcome_is("ok").sum())
        .select("trial", "from_ms", "offered", "acked", *_percentiles())
        .drop("p99_ms")
    )


def recovery(operations: pl.DataFrame, faults: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, index, recovered_ms``: from a fault's end to the next acknowledgement, null if there is none."""
    ended = faults.filter(pl.col("effective_end_ns").is_not_null()).sort("effective_end_ns")
    acks = operations.filter(outcome_is("ok"), pl.col("complete_ns").is_not_null()).sort("complete_ns")
    return (
        ended.select("trial", "index", "effective_end_ns")
        .unique(maintain_order=True)
        .join_asof(
            acks.select("trial", "complete_ns"),
            left_on="effective_end_ns",
            right_on="complete_ns",
            by="trial",
            strategy="forward",
            coalesce=False,
            check_sortedness=False,
        )
        .select(
            "trial",
            "index",
            recovered_ms=in_ms(pl.col("complete_ns") - pl.col("effective_end_ns")),
        )
    )


def _took_ms() -> pl.Expr:
    """Return the latencies of the acknowledged sends as a sorted list."""
    took_ms = in_ms(pl.col("complete_ns") - pl.col("invoke_ns"))
    return took_ms.filter(outcome_is("ok")).drop_nulls().sort().alias("took_ms")


def _percentiles() -> list[pl.Expr]:
    """Return each percentile of the sorted list ``took_ms``, interpolated between its neighbours. Null if empty."""
    return [_percentile(share).alias(name) for name, share in PERCENTILES.items()]


def _percentile(share: float) -> pl.Expr:
    took = pl.col("took_ms").list
    position = (took.len().cast(pl.Float64) - 1) * share
    low, high = position.floor(), position.ceil()
    below, above = (took.get(place.cast(pl.Int64), null_on_oob=True) for place in (low, high))
    between = (high - position) * below + (position - low) * above
    return pl.when(below == above).then(below).otherwise(between)
