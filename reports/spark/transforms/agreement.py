"""Where the two judgements of delivery part: by count, and by identity.

The online checks and Spark judge the same records by different programs. Where they disagree, one of the two is
wrong and it is not known which, so the run is a harness error. Trials that the judge did not count are not compared.

Identities are compared as by a full outer join over all their columns, in which null equals null and a row that is
there twice is not the same as a row that is there once.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from harness.workloads.produce.tables import ANOMALIES, DELIVERY
from reports.spark.transforms.anomalies import IDENTITY

#: How many identities are named of a trial and kind; their number is never trimmed.
MAX_NAMED = 16


def disagreements(trials: DataFrame, judged: DataFrame, recomputed: DataFrame) -> DataFrame:
    """``trial, count, judged, recomputed``; a trial that is missing on one side has null there."""
    sides = [
        side.unpivot("trial", list(DELIVERY), "count", name)
        for side, name in ((judged, "judged"), (recomputed, "recomputed"))
    ]
    return (
        sides[0]
        .join(sides[1], ["trial", "count"], how="full")
        .join(trials.filter("counted"), "trial", how="left_semi")
        .filter(~F.col("judged").eqNullSafe(F.col("recomputed")))
        .select("trial", "count", "judged", "recomputed")
    )


def matched(trials: DataFrame, judged: DataFrame, recomputed: DataFrame) -> DataFrame:
    """``trial``, an identity, and how many rows the online judgement and Spark have of it: ``judged, recomputed``."""
    sides = [
        side.select("trial", *IDENTITY, F.lit(ours).alias("judged"), F.lit(1 - ours).alias("recomputed"))
        for side, ours in ((judged.filter(F.col("kind").isin(*ANOMALIES)), 1), (recomputed, 0))
    ]
    return (
        sides[0]
        .union(sides[1])
        .join(trials.filter("counted"), "trial", how="left_semi")
        .groupBy("trial", *IDENTITY)
        .agg(F.sum("judged").alias("judged"), F.sum("recomputed").alias("recomputed"))
    )


def identities(matched: DataFrame) -> DataFrame:
    """``trial, kind, compared, differing, named``: how many identities, and those that only one judgement has.

    ``named`` are the first of them with their columns of :func:`matched`, ``differing`` is how many there are.
    """
    stray = F.struct("n", "partition", "offset", "detail", "judged", "recomputed")
    strays = F.array_sort(F.collect_list(F.when(_differs(), stray)))
    return (
        matched.groupBy("trial", "kind")
        .agg(
            F.count("*").alias("compared"),
            F.count_if(_differs()).alias("differing"),
            F.slice(strays, 1, MAX_NAMED).alias("named"),
        )
        .select("trial", "kind", "compared", "differing", "named")
    )


def _differs() -> Column:
    return F.col("judged") != F.col("recomputed")
