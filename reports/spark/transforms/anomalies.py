"""Find the wrong records: ``harness.workloads.produce.anomaly_rows``, recomputed with joins and windows.

No code of the online views is used here. The two share only the reading of the log and of the client's events. Every
function returns ``trial`` and the columns of :data:`IDENTITY`.
"""

from __future__ import annotations

import polars as pl

from reports.spark.transforms.stored import RECORD, further, outcome_is, repeated
from reports.spark.transforms.units import NS_PER_MS

#: The columns by which two anomalies of one trial are the same.
IDENTITY = ("kind", "n", "partition", "offset", "detail")
#: What one producer wrote to one partition.
_LOG = ("trial", "producer", "topic", "partition")
#: The tolerance for timestamps before the client's first event or after its last.
SLACK_MS = 5_000


def anomalies(
    operations: pl.DataFrame, stored: pl.DataFrame, events: pl.DataFrame, faults: pl.DataFrame
) -> pl.DataFrame:
    """Return all anomalies. ``stored``: see :mod:`reports.spark.transforms.stored`."""
    return pl.concat(
        (
            lost(operations, stored),
            duplicated(stored),
            reordered(stored),
            unexpected(stored),
            moved_keys(stored, faults),
            strange_timestamps(stored, events),
        )
    )


def lost(operations: pl.DataFrame, stored: pl.DataFrame) -> pl.DataFrame:
    """Return the acknowledged records without a copy."""
    copies = stored.filter(pl.col("outcome").is_not_null())
    return _rows(operations.filter(outcome_is("ok")).join(copies, on=["trial", "n"], how="anti"), "lost")


def duplicated(stored: pl.DataFrame) -> pl.DataFrame:
    """Return the copies of each record after its first."""
    return _rows(further(stored, *RECORD), "duplicated")


def reordered(stored: pl.DataFrame) -> pl.DataFrame:
    """Return acknowledged records whose first copy in a partition is after that of a record sent later.

    ``detail`` is the latest-sent such record.
    """
    acked = stored.filter(outcome_is("ok"))
    firsts = repeated(acked).group_by(*_LOG, "n").agg(pl.col("offset").min())
    only = acked.filter(pl.col("copies") == 1).select(*_LOG, "n", "offset")
    in_log = pl.concat((only, firsts)).sort("offset")
    placed = in_log.with_columns(furthest=pl.col("n").cum_max().shift(1).over(_LOG))
    return _rows(placed.filter(pl.col("n") < pl.col("furthest")), "reordered", pl.col("furthest"))


def unexpected(stored: pl.DataFrame) -> pl.DataFrame:
    """Return the log records that were not sent, or that the client reported as failed."""
    why = (
        pl.when(~pl.col("intact"))
        .then(pl.lit("DAMAGED"))
        .when(pl.col("n").is_null())
        .then(pl.lit("FOREIGN"))
        .when(pl.col("outcome").is_null())
        .then(pl.lit("NEVER_SENT"))
        .when(outcome_is("fail"))
        .then(pl.lit("REPORTED_FAILED"))
    )
    return _rows(stored.filter(why.is_not_null()), "unexpected", why)


def moved_keys(stored: pl.DataFrame, faults: pl.DataFrame) -> pl.DataFrame:
    """Return keys in more than one partition, plus one more for each time that the topic grew."""
    has_grown = (pl.col("kind") == "topic_growth") & pl.col("effective_start_ns").is_not_null()
    growths = faults.filter(has_grown).group_by("trial").agg(growths=pl.len())
    keyed = stored.filter(pl.col("n").is_not_null() & pl.col("key").is_not_null())
    places = (
        keyed.group_by("trial", "producer", "topic", "key")
        .agg(pl.col("partition").unique())
        .join(growths, on="trial", how="left")
    )
    most = 1 + pl.col("growths").fill_null(0)
    each = places.filter(pl.col("partition").list.len() > most).explode("partition")
    nothing = pl.lit(None, pl.Int64)
    return _rows(each.with_columns(n=nothing, offset=nothing), "moved-key", pl.col("key"))


def strange_timestamps(stored: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Return records with timestamps outside the time between the client's first and last event (its wall clock)."""
    wall_ms = pl.col("wall_ns") // NS_PER_MS
    span = (
        events.filter(pl.col("wall_ns") > 0)
        .group_by("trial")
        .agg(first_ms=wall_ms.min() - SLACK_MS, last_ms=wall_ms.max() + SLACK_MS)
    )
    odd = ~pl.col("timestamp_ms").is_between(pl.col("first_ms"), pl.col("last_ms"))
    return _rows(stored.join(span, on="trial").filter(odd), "strange-timestamp", pl.col("timestamp_ms"))


def _rows(found: pl.DataFrame, kind: str, detail: pl.Expr | None = None) -> pl.DataFrame:
    """Return ``found`` (with trial, n, partition, offset) as anomalies of one kind."""
    told = pl.lit(None) if detail is None else detail
    return found.select(
        "trial",
        pl.lit(kind).alias("kind"),
        "n",
        "partition",
        "offset",
        told.cast(pl.String).alias("detail"),
    )
