"""Anomalies of trials that consume, in the columns in which two judgements are compared."""

from __future__ import annotations

import polars as pl

#: The columns that identify a place in a log.
PLACE = ["trial", "partition", "offset"]


def rows(found: pl.DataFrame, kind: str, detail: pl.Expr | None = None) -> pl.DataFrame:
    """Return ``found`` (with ``PLACE``) as anomalies of one kind. None of them names a record by its number."""
    told = pl.lit(None) if detail is None else detail
    return found.select(
        "trial",
        pl.lit(kind).alias("kind"),
        pl.lit(None, pl.Int64).alias("n"),
        pl.col("partition").cast(pl.Int64),
        pl.col("offset").cast(pl.Int64),
        told.cast(pl.String).alias("detail"),
    )


def in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the order of the rows within their trial, in which they were packed."""
    return frame.with_columns(order=pl.int_range(pl.len(), dtype=pl.Int64).over("trial"))
