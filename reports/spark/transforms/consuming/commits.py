"""Commits compared with what their processes had done: those beyond it, and those that fall."""

from __future__ import annotations

import polars as pl

from reports.spark.transforms.consuming.ownership import OWNER, STRETCH, seeks
from reports.spark.transforms.consuming.rows import rows

_TIME = ["mono_ns", "event", "order"]


def early(commits: pl.DataFrame, deliveries: pl.DataFrame) -> pl.DataFrame:
    """Return the successful commits of the application beyond what justifies them.

    That is what the process had processed, or the largest offset that any process had tried to commit before.
    """
    got = deliveries.select(*OWNER, "event", "order", mono_ns="processed_ns", processed=pl.col("offset") + 1)
    both = pl.concat((got, commits), how="diagonal").sort(_TIME)
    committed = pl.col("offset").cum_max().shift(1).over("trial", "partition")
    told = both.with_columns(
        processed=pl.col("processed").cum_max().forward_fill().over(OWNER),
        committed=committed.forward_fill().over("trial", "partition"),
    )
    most = pl.max_horizontal(pl.col("processed").fill_null(0), pl.col("committed").fill_null(0))
    own = pl.col("success") & (pl.col("how") != "auto")
    return rows(told.filter(own, pl.col("offset") > most), "committed-early", pl.col("member"))


def regress(commits: pl.DataFrame, found: pl.DataFrame, owned: pl.DataFrame) -> pl.DataFrame:
    """Return the successful commits of an owner below its one before, unless the application set positions."""
    calm = owned.join(seeks(found, owned), on=STRETCH, how="anti")
    inside = pl.col("invoke_ns") >= pl.col("begin_ns")
    ended = pl.col("invoke_ns") > pl.col("end_ns")
    mine = (
        commits.filter("success")
        .join(calm.select(*STRETCH, "begin_ns", "end_ns"), on=OWNER)
        .filter(inside & ~ended.fill_null(value=False))
        .sort("invoke_ns", "event", "order")
    )
    before = pl.col("offset").shift(1).over(STRETCH)
    return rows(mine.filter(pl.col("offset") < before), "commit-regress", pl.col("member"))
