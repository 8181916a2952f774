"""Delivery, counted anew: what was sent and what the client said of it, joined with what lies in the log.

This is a second judgement by another program: joins and windows over packed rows, sharing no code with the online
checks. A *copy* of record n is a log record with n's intact value, by this run, trial and producer. The counts
(``harness.rows.Delivery``):

- ``sent`` records that the client was handed; of these ``acked``, ``failed``, ``unknown``;
- ``in_log``: the records in the log, whoever wrote them; control records are none;
- ``lost``: acknowledged, and no copy lies in the log (E2E-DEL-01);
- ``duplicated``: copies beyond a record's first (E2E-DEL-02);
- ``reordered``: acknowledged records whose first copy in a partition lies behind that of a record sent later;
- ``phantom``: log records that nobody sent, or that the client said were certainly not written.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from harness.evidence import PRODUCER
from harness.tables import DELIVERY


def _outcome(outcome: str) -> Column:
    return F.col("outcome") == outcome


def stored(trials: DataFrame, operations: DataFrame, log_records: DataFrame) -> DataFrame:
    """``trial, partition, offset, base_offset, n, outcome``: the log's records.

    ``n`` is null for what is no copy of a record of the trial, ``outcome`` for what nobody sent.
    """
    names = trials.select("trial", F.col("run").alias("own_run"), F.col("topic").alias("own_topic"))
    own = (
        F.col("intact")
        & (F.col("identity_run") == F.col("own_run"))
        & (F.col("identity_trial") == F.col("own_topic"))
        & (F.col("identity_producer") == PRODUCER)
    )
    return (
        log_records.filter(~F.col("control"))
        .join(names, "trial", how="inner")
        .select("trial", "partition", "offset", "base_offset", F.when(own, F.col("identity_n")).alias("n"))
        .join(operations.select("trial", "n", "outcome"), ["trial", "n"], how="left")
    )


def said(operations: DataFrame) -> DataFrame:
    """``trial, sent, acked, failed, unknown``: the client's word."""
    return operations.groupBy("trial").agg(
        F.count("*").alias("sent"),
        F.count_if(_outcome("ok")).alias("acked"),
        F.count_if(_outcome("fail")).alias("failed"),
        F.count_if(_outcome("info")).alias("unknown"),
    )


def found(stored: DataFrame) -> DataFrame:
    """``trial, in_log, duplicated, phantom, acked_in_log``: the log's word, record by record."""
    is_copy = F.col("n").isNotNull()
    return stored.groupBy("trial").agg(
        F.count("*").alias("in_log"),
        (F.count_if(is_copy) - F.countDistinct("n")).alias("duplicated"),
        F.count_if(F.col("outcome").isNull() | _outcome("fail")).alias("phantom"),
        F.countDistinct(F.when(_outcome("ok"), F.col("n"))).alias("acked_in_log"),
    )


def overtaken(stored: DataFrame) -> DataFrame:
    """``trial, reordered``: acknowledged records that stand, in a partition, behind one sent later."""
    before = (
        Window.partitionBy("trial", "partition").orderBy("first").rowsBetween(Window.unboundedPreceding, -1)
    )
    return (
        stored.filter(_outcome("ok"))
        .groupBy("trial", "partition", "n")
        .agg(F.min("offset").alias("first"))
        .withColumn("furthest", F.max("n").over(before))
        .groupBy("trial")
        .agg(F.count_if(F.col("n") < F.col("furthest")).alias("reordered"))
    )


def delivery(trials: DataFrame, operations: DataFrame, stored: DataFrame) -> DataFrame:
    """``trial`` and the counts of ``harness.tables.DELIVERY``: one row a trial, also of one that left no rows."""
    return (
        trials.select("trial")
        .join(said(operations), "trial", how="left")
        .join(found(stored), "trial", how="left")
        .join(overtaken(stored), "trial", how="left")
        .fillna(0)
        .withColumn("lost", F.col("acked") - F.col("acked_in_log"))
        .select("trial", *DELIVERY)
    )
