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

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from harness.model.anomaly_row import UNEXPLAINED
from harness.model.verdicts import Guarantee
from reports.spark.transforms.agreement import MAX_NAMED
from reports.spark.transforms.stored import repeated

UNSEEN = "no observed Produce request stored one of its copies"
TWICE = "one request contained it twice"


def duplicates(trials: DataFrame, stored: DataFrame, origins: DataFrame) -> DataFrame:
    """Return ``trial, n, copies, unexplained, why``, one row per duplicated record of an at-least-once trial.

    ``unexplained`` is a clause about the missing explanation, or null. ``why`` is a clause about the failure.
    """
    judged = trials.filter(F.col("counted") & (F.col("guarantee") == Guarantee.AT_LEAST_ONCE.value))
    copies = (
        repeated(stored)
        .join(judged, "trial", how="left_semi")
        .join(origins, ["trial", "partition", "base_offset"], how="left")
        .select("trial", "n", "copies", _request())
    )
    return (
        copies.groupBy("trial", "n", "copies")
        .agg(F.array_sort(F.collect_list("request")).alias("requests"))
        .withColumn("unexplained", _unexplained())
        .withColumn("why", F.when(F.col("unexplained").isNull(), _why()))
        .select("trial", "n", "copies", "unexplained", "why")
    )


def explanations(trials: DataFrame, duplicates: DataFrame, judged: DataFrame) -> DataFrame:
    """Return ``trial, duplicated, unexplained, compared, differing, named``.

    ``duplicated`` records of a trial, and those of them that are ``unexplained``. ``compared`` is true if the online
    judgement stored its own set (the rows of ``judged`` of that kind). ``differing`` records are explained by only one
    judgement, and ``named[n, online, spark]`` are the first of them with both reasons.
    """
    online = (
        judged.filter(F.col("kind") == UNEXPLAINED)
        .groupBy("trial", "n")
        .agg(F.coalesce(F.min("detail"), F.lit("it gives no reason")).alias("accused"))
    )
    differs = F.col("explains") & (F.col("accused").isNull() != F.col("unexplained").isNull())
    reasons = F.struct(
        "n",
        F.coalesce("accused", F.lit("explained")).alias("online"),
        F.coalesce("unexplained", "why", F.lit("not duplicated")).alias("spark"),
    )
    return (
        duplicates.join(online, ["trial", "n"], how="full")
        .join(trials.filter("counted").select("trial", "explains"), "trial", how="inner")
        .groupBy("trial", F.col("explains").alias("compared"))
        .agg(
            F.count("copies").alias("duplicated"),
            F.count("unexplained").alias("unexplained"),
            F.count_if(differs).alias("differing"),
            F.slice(F.array_sort(F.collect_list(F.when(differs, reasons))), 1, MAX_NAMED).alias("named"),
        )
        .select("trial", "duplicated", "unexplained", "compared", "differing", "named")
    )


def _request() -> Column:
    """Return the request of a copy. The order of its fields determines the order of requests."""
    return F.struct("asked_ns", "frame", "conn", "broker", "failure").alias("request")


def _unexplained() -> Column:
    requests = F.col("requests")
    frames = F.transform(requests, lambda request: request["frame"])
    idle = F.filter(requests, lambda earlier: F.exists(requests, lambda later: _needless(earlier, later)))
    needless = F.concat(
        F.lit("it was sent again although nothing was wrong with the request in frame "), idle[0]["frame"]
    )
    return (
        F.when(F.exists(frames, lambda frame: frame.isNull()), UNSEEN)
        .when(F.size(F.array_distinct(frames)) < F.size(frames), TWICE)
        .when(F.size(idle) > 0, needless)
    )


def _needless(earlier: Column, later: Column) -> Column:
    follows = (earlier["asked_ns"] < later["asked_ns"]) | (
        (earlier["asked_ns"] == later["asked_ns"]) & (earlier["frame"] < later["frame"])
    )
    overtook = (later["conn"] < earlier["conn"]) & (later["broker"] == earlier["broker"])
    excused = earlier["failure"].isNotNull() | (overtook & later["failure"].isNotNull())
    return follows & ~excused


def _why() -> Column:
    failed = F.filter("requests", lambda request: request["failure"].isNotNull())
    return F.concat(F.lit("the request in frame "), failed[0]["frame"], F.lit(": "), failed[0]["failure"])
