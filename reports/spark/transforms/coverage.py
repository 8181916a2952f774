"""Requirement x client: in how many trials it was judged, with which verdicts."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812


def coverage(trials: DataFrame, requirements: DataFrame) -> DataFrame:
    """Return ``id, level, client, verdict, trials, findings``, one row for each verdict of a requirement and client."""
    return (
        requirements.join(trials.select("trial", "client"), "trial", how="inner")
        .groupBy("id", "level", "client", "verdict")
        .agg(F.count("*").alias("trials"), F.sum("findings").alias("findings"))
        .select("id", "level", "client", "verdict", "trials", "findings")
    )
