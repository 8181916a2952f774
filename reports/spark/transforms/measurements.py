"""Measurements of each client in each cell. They do not affect any verdict."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from reports.spark.transforms.matrix import CELL


def measurements(
    trials: DataFrame, delivery: DataFrame, traffic: DataFrame, recovery: DataFrame
) -> DataFrame:
    """Return each cell's measurements.

    The columns are ``broker, scenario, guarantee, client, trials, duplicated, resent_parts, connections,
    slowest_recovery_ms``. The values are sums over the trials of a cell. The slowest recovery is null if no fault ended
    before an acknowledgement.
    """
    slowest = recovery.groupBy("trial").agg(F.max("recovered_ms").alias("slowest_ms"))
    return (
        trials.select("trial", *CELL)
        .join(delivery.select("trial", "duplicated"), "trial", how="left")
        .join(traffic.select("trial", "resent_parts", "connections"), "trial", how="left")
        .join(slowest, "trial", how="left")
        .groupBy(*CELL)
        .agg(
            F.count("*").alias("trials"),
            F.sum("duplicated").alias("duplicated"),
            F.sum("resent_parts").alias("resent_parts"),
            F.sum("connections").alias("connections"),
            F.max("slowest_ms").alias("slowest_recovery_ms"),
        )
        .select(*CELL, "trials", "duplicated", "resent_parts", "connections", "slowest_recovery_ms")
    )
