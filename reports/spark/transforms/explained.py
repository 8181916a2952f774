"""Find the duplicates that an at-least-once client could not avoid, from the frames. Compared with the online result.

A record that is in the log more than once is *explained* if each copy was stored by a different request, and of any two
of these the earlier one failed (:mod:`reports.spark.transforms.attempts`). Requests are ordered by their arrival at the
witness. A later one on an older connection to the same broker may have been sent first, so it may also be the one that
failed.

This rule is simpler than that of the online checks, and uses less information (nothing about requests that were stopped
before the broker, or about responses out of turn). If the two differ, the report therefore shows both reasons, and no
verdict is withdrawn.
"""

from __future__ import annotations

import polars as pl

from harness.model.anomaly_row import UNEXPLAINED
from harness.model.verdicts import Guarantee
from reports.spark.transforms.agreement import MAX_NAMED
from reports.spark.transforms.stored import repeated

UNSEEN = "no observed Produce request stored one of its copies"
TWICE = "one request contained it twice"
#: The request of a copy. The order of its columns determines the order of requests.
_REQUEST = ("asked_ns", "frame", "conn", "broker", "failure")


def duplicates(trials: pl.DataFrame, stored: pl.DataFrame, origins: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, n, copies, unexplained, why``, one row per duplicated record of an at-least-once trial.

    ``unexplained`` is a clause about the missing explanation, or null. ``why`` is a clause about the failure.
    """
    judged = trials.filter("counted", pl.col("guarantee") == Guarantee.AT_LEAST_ONCE.value)
    requests = (
        repeated(stored)
        .join(judged, on="trial", how="semi")
        .join(origins, on=["trial", "partition", "base_offset"], how="left")
        .select("trial", "n", "copies", *_REQUEST)
        .sort(_REQUEST)
    )
    frames = pl.col("frame")
    failed = pl.col("frame", "failure").filter(pl.col("failure").is_not_null()).first()
    found = requests.group_by("trial", "n", "copies").agg(
        failed.name.prefix("failed_"),
        unseen=frames.is_null().any(),
        twice=frames.n_unique() < pl.len(),
    )
    return (
        found.join(_needless(requests), on=["trial", "n"], how="left")
        .with_columns(unexplained=_unexplained())
        .with_columns(why=pl.when(pl.col("unexplained").is_null()).then(_why()))
        .select("trial", "n", "copies", "unexplained", "why")
    )


def explanations(trials: pl.DataFrame, duplicates: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, duplicated, unexplained, compared, differing, named``.

    ``duplicated`` records of a trial, and those of them that are ``unexplained``. ``compared`` is true if the online
    judgement stored its own set (the rows of ``judged`` of that kind). ``differing`` records are explained by only one
    judgement, and ``named[n, online, spark]`` are the first of them with both reasons.
    """
    online = (
        judged.filter(pl.col("kind") == UNEXPLAINED)
        .group_by("trial", "n")
        .agg(accused=pl.col("detail").min().fill_null("it gives no reason"))
    )
    differs = pl.col("explains") & (pl.col("accused").is_null() != pl.col("unexplained").is_null())
    reasons = {
        "online": pl.coalesce("accused", pl.lit("explained")),
        "spark": pl.coalesce("unexplained", "why", pl.lit("not duplicated")),
    }
    return (
        duplicates.join(online, on=["trial", "n"], how="full", coalesce=True)
        .join(trials.filter("counted").select("trial", "explains"), on="trial")
        .with_columns(differs.alias("differs"), **reasons)
        .sort("n", "online", "spark")
        .group_by("trial", compared="explains")
        .agg(
            duplicated=pl.col("copies").count(),
            unexplained=pl.col("unexplained").count(),
            differing=pl.col("differs").sum(),
            named=pl.struct("n", "online", "spark").filter("differs").head(MAX_NAMED),
        )
        .select("trial", "duplicated", "unexplained", "compared", "differing", "named")
    )


def _needless(requests: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, n, idle``: the first request of a record that was sent again although it had not failed."""
    of_record = ("trial", "n")
    asked, later = pl.col("asked_ns"), pl.col("asked_ns_later")
    follows = (asked < later) | ((asked == later) & (pl.col("frame") < pl.col("frame_later")))
    overtook = (pl.col("conn_later") < pl.col("conn")) & (pl.col("broker_later") == pl.col("broker"))
    excused = pl.col("failure").is_not_null() | (overtook & pl.col("failure_later").is_not_null())
    return (
        requests.join(requests, on=of_record, suffix="_later", maintain_order="left")
        .filter(follows, ~excused)
        .group_by(of_record)
        .agg(idle=pl.col("frame").first())
    )


def _unexplained() -> pl.Expr:
    needless = pl.format("it was sent again although nothing was wrong with the request in frame {}", "idle")
    return pl.when("unseen").then(pl.lit(UNSEEN)).when("twice").then(pl.lit(TWICE)).otherwise(needless)


def _why() -> pl.Expr:
    return pl.format("the request in frame {}: {}", "failed_frame", "failed_failure")
