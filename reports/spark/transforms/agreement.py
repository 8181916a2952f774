"""Compare the two judgements of delivery by identity. Their counts are compared in :mod:`reports.spark.derived`.

The online checks and Spark judge the same records by different programs. If they disagree, one of the two is wrong and
it is unknown which, so the trial is a harness error. Trials without counts from the judge are not compared.

Identities are compared as by a full outer join over all their columns, in which null equals null. A row that occurs
twice differs from one that occurs once.
"""

from __future__ import annotations

import polars as pl

from harness.workloads.consume.tables import GROUP_ANOMALIES
from harness.workloads.produce.tables import ANOMALIES
from reports.spark.transforms.anomalies import IDENTITY

#: The maximum number of named identities per trial and kind. Their count is never limited.
MAX_NAMED = 16
#: The kinds of anomalies that both judgements find.
COMPARED = (*ANOMALIES, *GROUP_ANOMALIES)
_STRAY = ("n", "partition", "offset", "detail", "judged", "recomputed")


def matched(trials: pl.DataFrame, judged: pl.DataFrame, recomputed: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial``, an identity, and its number of rows in each judgement: ``judged, recomputed``."""
    online = judged.filter(pl.col("kind").is_in(COMPARED))
    sides = [
        side.select("trial", *IDENTITY, judged=pl.lit(ours), recomputed=pl.lit(1 - ours))
        for side, ours in ((online, 1), (recomputed, 0))
    ]
    return (
        pl.concat(sides)
        .join(trials.filter("counted"), on="trial", how="semi")
        .group_by("trial", *IDENTITY)
        .agg(pl.col("judged", "recomputed").sum().cast(pl.Int64))
    )


def identities(matched: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, kind, compared, differing, named``: the number of identities, and those of only one judgement.

    ``named`` are the first of the latter with their columns of :func:`matched`, ``differing`` is their number.
    """
    differs = pl.col("judged") != pl.col("recomputed")
    return (
        matched.sort(_STRAY)
        .group_by("trial", "kind")
        .agg(
            compared=pl.len(),
            differing=differs.sum(),
            named=pl.struct(_STRAY).filter(differs).head(MAX_NAMED),
        )
    )
