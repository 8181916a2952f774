"""Compare the two judgements of delivery by identity. Their counts are compared in :mod:`reports.spark.derived`.

The online checks and Spark judge the same records by different programs. If they disagree, one of the two is wrong and
it is unknown which, so the trial is a harness error. Trials without counts from the judge are not compared.

Identities are compared as by a full outer join over all their columns, in which null equals null. A row that occurs
twice differs from one that occurs once.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from harness.workloads.produce.tables import ANOMALIES
from reports.spark.transforms.anomalies import IDENTITY

#: The maximum number of named identities per trial and kind. Their count is never limited.
MAX_NAMED = 16


def matched(trials: DataFrame, judged: DataFrame, recomputed: DataFrame) -> DataFrame:
    """Return ``trial``, an identity, and its number of rows in each judgement: ``judged, recomputed``."""
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
    """Return ``trial, kind, compared, differing, named``: the number of identities, and those of only one judgement.

    ``named`` are the first of the latter with their columns of :func:`matched`, ``differing`` is their number.
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
