"""The log's records, each joined with the client's report on it: the basis for judging delivery.

A *copy* of record n is a log record with n's intact value, written by this run, trial and producer. Control records are
not included.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

#: The columns that identify a record. Its number alone does, unless a client mixes up producers or topics.
RECORD = ("trial", "producer", "topic", "n")
_AS_THEY_ARE = (
    "trial",
    "topic",
    "partition",
    "offset",
    "base_offset",
    "timestamp_ms",
    "key",
    "intact",
    "producer_id",
    "producer_epoch",
    "sequence",
    "batch_crc",
)


def outcome_is(outcome: str) -> Column:
    """Return the condition that the column ``outcome`` has this value."""
    return F.col("outcome") == outcome


def said() -> list[Column]:
    """Return ``acked, failed, unknown``: the number of records by what the client reported."""
    names = {"ok": "acked", "fail": "failed", "info": "unknown"}
    return [F.count_if(outcome_is(outcome)).alias(name) for outcome, name in names.items()]


def stored(trials: DataFrame, operations: DataFrame, log_records: DataFrame) -> DataFrame:
    """Return ``n, producer, outcome, copies`` and columns of ``log_records``, one row per data record.

    ``n`` is null for a record that is not a copy of the trial's records, ``outcome`` for a record that was not sent.
    ``copies`` is the number of records with this ``n``. The rows are sorted by trial and ``n``, as the operations are.
    """
    names = trials.select("trial", F.col("run").alias("own_run"), "producers")
    # The producers are p1, p2 and so on. A value names the topic that it was sent to.
    number = F.substring("identity_producer", 2, 6).try_cast("int")
    own = (
        F.col("intact")
        & (F.col("identity_run") == F.col("own_run"))
        & (F.col("identity_trial") == F.col("topic"))
        & (F.col("identity_producer") == F.concat(F.lit("p"), number))
        & number.between(1, F.col("producers"))
    )
    sent = operations.select(
        "trial", "n", F.col("producer").alias("sent_by"), F.col("topic").alias("sent_to"), "outcome"
    )
    was_sent = (F.col("producer") == F.col("sent_by")) & (F.col("topic") == F.col("sent_to"))
    of_record = Window.partitionBy("trial", "n")
    return (
        log_records.filter(~F.col("control"))
        .join(names, "trial", how="inner")
        .select(
            *_AS_THEY_ARE,
            F.when(own, F.col("identity_n")).alias("n"),
            F.when(own, F.col("identity_producer")).alias("producer"),
        )
        .join(sent, ["trial", "n"], how="left")
        .withColumn("outcome", F.when(was_sent, F.col("outcome")))
        .drop("sent_by", "sent_to")
        .withColumn("copies", F.when(F.col("n").isNotNull(), F.count("*").over(of_record)))
    )


def repeated(stored: DataFrame) -> DataFrame:
    """Return the rows of :func:`stored` of records that are in the log more than once: few, in most trials."""
    return stored.filter(F.col("copies") > 1)
