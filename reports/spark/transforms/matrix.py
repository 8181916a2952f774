"""Client x scenario x guarantee: the worst verdict of a cell, and the trials it stands for."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from harness.model.verdicts import SEVERITY, Verdict

#: What a cell of the matrix is: its trials differ in their seeds alone.
CELL = ("broker", "scenario", "guarantee", "client")


def published(judged: DataFrame, disagreements: DataFrame) -> DataFrame:
    """``judged`` (rows with ``trial`` and ``verdict``), with the verdicts that may be published.

    That is none for a trial on which the two judgements of delivery disagree.
    """
    doubted = disagreements.select("trial").distinct().withColumn("doubted", F.lit(True))
    verdict = F.when(F.col("doubted"), Verdict.HARNESS_ERROR.value).otherwise(F.col("verdict"))
    return judged.join(doubted, "trial", how="left").withColumn("verdict", verdict).select(*judged.columns)


def matrix(trials: DataFrame) -> DataFrame:
    """``broker, scenario, guarantee, client, verdict, trials[seed, verdict, trial]``, one row a cell."""
    return (
        trials.groupBy(*CELL)
        .agg(
            F.min_by("verdict", severity()).alias("verdict"),
            F.array_sort(F.collect_list(F.struct("seed", "verdict", "trial"))).alias("trials"),
        )
        .select(*CELL, "verdict", "trials")
    )


def severity() -> Column:
    """The rank of the column ``verdict``, the worst first."""
    return F.array_position(F.array(*(F.lit(verdict.value) for verdict in SEVERITY)), F.col("verdict"))
