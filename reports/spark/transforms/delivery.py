"""Recompute the delivery counts: what was sent and what the client reported, compared with the log.

The counts are those of ``harness.model.rows.Delivery``. ``sent``, and of these ``acked``, ``failed`` and ``unknown``:
as the client reported them. ``in_log``: the records in the log, from any writer. ``lost``, ``duplicated``,
``reordered``, ``unexpected``: the anomalies of that kind (:mod:`reports.spark.transforms.anomalies`), each of which is
also compared individually.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from harness.workloads.produce.tables import DELIVERY
from reports.spark.transforms.stored import said

COUNTED = ("lost", "duplicated", "reordered", "unexpected")


def delivery(trials: DataFrame, operations: DataFrame, stored: DataFrame, anomalies: DataFrame) -> DataFrame:
    """Return ``trial`` and the counts of ``DELIVERY``, one row for each trial, even without records."""
    in_log = stored.groupBy("trial").agg(F.count("*").alias("in_log"))
    wrong = anomalies.groupBy("trial").agg(
        *(F.count_if(F.col("kind") == kind).alias(kind) for kind in COUNTED)
    )
    return (
        trials.select("trial")
        .join(_sent(operations), "trial", how="left")
        .join(in_log, "trial", how="left")
        .join(wrong, "trial", how="left")
        .fillna(0)
        .select("trial", *DELIVERY)
    )


def _sent(operations: DataFrame) -> DataFrame:
    """Return ``trial, sent, acked, failed, unknown``, as the client reported them."""
    return operations.groupBy("trial").agg(F.count("*").alias("sent"), *said())
