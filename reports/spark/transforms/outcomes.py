"""Recompute the outcomes of each trial: how many records were done, how long none was, how soon they came back.

The definitions are those of :mod:`harness.judging.availability`. A *gap* is a time in which records wait and none is
acknowledged. The waits of a trial are merged into periods (gaps and islands), each of which is cut at its
acknowledgements. All of it is computed with window functions, and shares no code with the online judgement.
"""

from __future__ import annotations

import polars as pl

from harness.storage.parquet_schema import OUTCOMES
from reports.spark.transforms.stored import outcome_is, said
from reports.spark.transforms.units import NS_PER_MS

#: The longest gap that still counts as steady, without linger.ms.
STEADY_MS = 1_000
_COUNTS = ("offered", "acked", "failed", "unknown", "requests", "request_bytes")


def outcomes(
    trials: pl.DataFrame,
    operations: pl.DataFrame,
    events: pl.DataFrame,
    faults: pl.DataFrame,
    requests: pl.DataFrame,
) -> pl.DataFrame:
    """Return ``trial`` and the columns of ``OUTCOMES``, one row for each trial.

    ``requests``: see :func:`load_requests`.
    """
    of_trial = _moments(trials, events, faults)
    waits = _waits(operations, of_trial)
    found = (
        of_trial.join(_said(operations), on="trial", how="left")
        .join(_latencies(operations), on="trial", how="left")
        .join(_gaps(waits, of_trial), on="trial", how="left")
        .join(requests, on="trial", how="left")
    )
    recovered = _recovery(found, operations, waits)
    return (
        found.join(recovered, on="trial", how="left")
        .with_columns(pl.col(_COUNTS).fill_null(0))
        .select("trial", *OUTCOMES)
    )


def load_requests(trials: pl.DataFrame, frames: pl.DataFrame, blocked: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, requests, request_bytes``: those of the API that carries the load, blocked ones included."""
    sent = frames.filter(pl.col("kind") == "request").select("trial", "api", "size_bytes")
    return (
        pl.concat((sent, blocked.select("trial", "api", "size_bytes")))
        .join(trials.select("trial", "load_api"), on="trial")
        .filter(pl.col("api") == pl.col("load_api"))
        .group_by("trial")
        .agg(requests=pl.len(), request_bytes=pl.col("size_bytes").sum())
    )


def _moments(trials: pl.DataFrame, events: pl.DataFrame, faults: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, until_ns, after_ns, limit_ns``: the end of waiting and of faults, and the longest steady gap."""
    last = events.group_by("trial").agg(last_ns=pl.col("mono_ns").max())
    ended = faults.group_by("trial").agg(after_ns=pl.col("effective_end_ns").max())
    return (
        trials.join(last, on="trial", how="left")
        .join(ended, on="trial", how="left")
        .select(
            "trial",
            "after_ns",
            until_ns=pl.coalesce("final_ns", "end_ns", "last_ns", 0),
            limit_ns=(pl.col("linger_ms").fill_null(0) + STEADY_MS) * NS_PER_MS,
        )
    )


def _said(operations: pl.DataFrame) -> pl.DataFrame:
    return operations.group_by("trial").agg(pl.len().alias("offered"), *said())


def _latencies(operations: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, p50_ns, p99_ns`` by nearest rank, in whole numbers."""
    told = operations.filter(pl.col("complete_ns").is_not_null())
    took = (pl.col("complete_ns") - pl.col("invoke_ns")).sort()
    return told.group_by("trial").agg(p50_ns=_ranked(took, 50), p99_ns=_ranked(took, 99))


def _ranked(ordered: pl.Expr, percent: int) -> pl.Expr:
    rank = (pl.len().cast(pl.Int64) * percent + 99) // 100
    return ordered.get(rank - 1)


def _waits(operations: pl.DataFrame, of_trial: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, begin_ns, end_ns, acked, island``: the waits, numbered by the period without a break."""
    waited_until = pl.col("end_ns").cum_max().shift(1).over("trial")
    is_new = (pl.col("begin_ns") > waited_until).fill_null(value=True)
    return (
        operations.join(of_trial, on="trial")
        .select(
            "trial",
            begin_ns="invoke_ns",
            end_ns=pl.coalesce("complete_ns", "until_ns"),
            acked=outcome_is("ok"),
        )
        .sort("begin_ns", "end_ns")
        .with_columns(is_new=is_new)
        .with_columns(island=pl.col("is_new").cum_sum().over("trial"))
    )


def _gaps(waits: pl.DataFrame, of_trial: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, longest_gap_ms, steady_from_ns``: the end of what was too long, null if nothing was."""
    island = ("trial", "island")
    spans = waits.group_by(island).agg(first_ns=pl.col("begin_ns").min(), last_ns=pl.col("end_ns").max())
    cuts = (
        pl.concat(
            (
                spans.select(*island, at_ns="first_ns"),
                spans.select(*island, at_ns="last_ns"),
                waits.filter("acked").select(*island, at_ns="end_ns"),
            )
        )
        .sort("at_ns")
        .with_columns(from_ns=pl.col("at_ns").shift(1).over(island))
        .filter(pl.col("from_ns") < pl.col("at_ns"))
    )
    gap_ns = pl.col("at_ns") - pl.col("from_ns")
    too_long = pl.col("from_ns").filter(gap_ns > pl.col("limit_ns")) + 1
    return (
        cuts.join(of_trial, on="trial")
        .group_by("trial")
        .agg(longest_gap_ms=gap_ns.max() // NS_PER_MS, steady_from_ns=too_long.max())
    )


def _recovery(found: pl.DataFrame, operations: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, first_ack_ms, steady_ack_ms, recovered``; all are null if no fault ended in the trial."""
    last = waits.group_by("trial").agg(waited_until_ns=pl.col("end_ns").max())
    moments = found.filter(pl.col("after_ns").is_not_null()).join(last, on="trial", how="left")
    acked_ns = pl.col("complete_ns")
    steady_from_ns = pl.max_horizontal("after_ns", "steady_from_ns")
    after = (
        operations.filter(outcome_is("ok"))
        .join(moments, on="trial")
        .group_by("trial")
        .agg(
            first_ns=acked_ns.filter(acked_ns >= pl.col("after_ns")).min(),
            steady_ns=acked_ns.filter(acked_ns >= steady_from_ns).min(),
        )
    )
    waited = pl.col("waited_until_ns") >= pl.col("after_ns")
    return moments.join(after, on="trial", how="left").select(
        "trial",
        first_ack_ms=(pl.col("first_ns") - pl.col("after_ns")) // NS_PER_MS,
        steady_ack_ms=(pl.col("steady_ns") - pl.col("after_ns")) // NS_PER_MS,
        recovered=pl.when(waited).then(pl.col("steady_ns").is_not_null()),
    )
