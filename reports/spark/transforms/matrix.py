"""Client x scenario x guarantee: the worst verdict of a cell, and its trials."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from harness.model.verdicts import SEVERITY, Verdict

#: The columns of a matrix cell. Its trials differ only in their seeds.
CELL = ("broker", "scenario", "guarantee", "client")


def published(judged: DataFrame, disagreements: DataFrame) -> DataFrame:
    """Return ``judged`` (rows with ``trial`` and ``verdict``) with the verdicts that may be published.

    A trial on which the two judgements of delivery disagree becomes a harness-error.
    """
    doubted = disagreements.select("trial").distinct().withColumn("doubted", F.lit(True))
    verdict = F.when(F.col("doubted"), Verdict.HARNESS_ERROR.value).otherwise(F.col("verdict"))
    return judged.join(doubted, "trial", how="left").withColumn("verdict", verdict).select(*judged.columns)


def matrix(trials: DataFrame) -> DataFrame:
    """Return ``broker, scenario, guarantee, client, verdict, trials[seed, verdict, trial]``, one row per cell."""
    return (
        trials.groupBy(*CELL)
        .agg(
            F.min_by("verdict", severity()).alias("verdict"),
            F.array_sort(F.collect_list(F.struct("seed", "verdict", "trial"))).alias("trials"),
        )
        .select(*CELL, "verdict", "trials")
    )


def severity() -> Column:
    """Return the rank of the column ``verdict``, the worst first."""
    return F.array_position(F.array(*(F.lit(verdict.value) for verdict in SEVERITY)), F.col("verdict"))
