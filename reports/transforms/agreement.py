"""Where the two judgements of delivery part: one row a trial and count.

The online checks and Spark count the same records by different programs. Where they disagree, one of the two is
wrong and nobody knows which, so the run is a harness error. Trials that the judge did not count are not compared.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from harness.tables import DELIVERY


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
