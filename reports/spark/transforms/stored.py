"""The log's records, each joined with the client's report on it: the basis for judging delivery.

A *copy* of record n is a log record with n's intact value, written by this run, trial and producer. Control records are
not included.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
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
    """Return ``n, outcome`` and columns of ``log_records``, one row per data record.

    ``n`` is null for a record that is not a copy of the trial's records, ``outcome`` for a record that was not sent.
    """
    names = trials.select("trial", F.col("run").alias("own_run"), "producers")
    # The producers are p1, p2 and so on. A value names the topic that it was sent to.
    number = F.regexp_extract("identity_producer", "^p([1-9][0-9]{0,5})$", 1)
    own = (
        F.col("intact")
        & (F.col("identity_run") == F.col("own_run"))
        & (F.col("identity_trial") == F.col("topic"))
        & F.coalesce(number.try_cast("int") <= F.col("producers"), F.lit(False))
    )
    return (
        log_records.filter(~F.col("control"))
        .join(names, "trial", how="inner")
        .select(
            *_AS_THEY_ARE,
            F.when(own, F.col("identity_n")).alias("n"),
            F.when(own, F.col("identity_producer")).alias("producer"),
        )
        .join(operations.select(*RECORD, "outcome"), list(RECORD), how="left")
    )
