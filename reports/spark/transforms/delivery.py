"""Recompute the delivery counts: what was sent and what the client reported, compared with the log.

The counts are those of ``harness.model.rows.Delivery``. ``sent``, and of these ``acked``, ``failed`` and ``unknown``:
as the client reported them. ``in_log``: the records in the log, from any writer. ``lost``, ``duplicated``,
``reordered``, ``unexpected``: the anomalies of that kind (:mod:`reports.spark.transforms.anomalies`), each of which is
also compared individually.
"""

from __future__ import annotations

import polars as pl

from harness.workloads.produce.tables import DELIVERY
from reports.spark.transforms.stored import said

COUNTED = ("lost", "duplicated", "reordered", "unexpected")


def delivery(
    trials: pl.DataFrame, operations: pl.DataFrame, stored: pl.DataFrame, anomalies: pl.DataFrame
) -> pl.DataFrame:
    """Return ``trial`` and the counts of ``DELIVERY``, one row for each trial, even without records."""
    sent = operations.group_by("trial").agg(pl.len().alias("sent"), *said())
    in_log = stored.group_by("trial").agg(in_log=pl.len())
    wrong = anomalies.group_by("trial").agg((pl.col("kind") == kind).sum().alias(kind) for kind in COUNTED)
    return (
        trials.select("trial")
        .join(sent, on="trial", how="left")
        .join(in_log, on="trial", how="left")
        .join(wrong, on="trial", how="left")
        .select("trial", pl.col(*DELIVERY).fill_null(0))
    )
