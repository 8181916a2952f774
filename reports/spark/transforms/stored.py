"""The log's records, each joined with the client's report on it: the basis for judging delivery.

A *copy* of record n is a log record with n's intact value, written by this run, trial and producer. Control records are
not included.
"""

from __future__ import annotations

import polars as pl

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


def outcome_is(outcome: str) -> pl.Expr:
    """Return the condition that the column ``outcome`` has this value."""
    return pl.col("outcome") == outcome


def said() -> list[pl.Expr]:
    """Return ``acked, failed, unknown``: the number of records by what the client reported."""
    names = {"ok": "acked", "fail": "failed", "info": "unknown"}
    return [outcome_is(outcome).sum().alias(name) for outcome, name in names.items()]


def stored(trials: pl.DataFrame, operations: pl.DataFrame, log_records: pl.DataFrame) -> pl.DataFrame:
    """Return ``n, producer, outcome, copies`` and columns of ``log_records``, one row per data record.

    ``n`` is null for a record that is not a copy of the trial's records, ``outcome`` for a record that was not sent.
    ``copies`` is the number of records with this ``n``.
    """
    names = trials.select("trial", "producers", own_run="run")
    # The producers are p1, p2 and so on. A value names the topic that it was sent to.
    number = pl.col("identity_producer").str.slice(1, 6).cast(pl.Int64, strict=False)
    own = (
        pl.col("intact")
        & (pl.col("identity_run") == pl.col("own_run"))
        & (pl.col("identity_trial") == pl.col("topic"))
        & (pl.col("identity_producer") == pl.format("p{}", number))
        & number.is_between(1, pl.col("producers"))
    )
    sent = operations.select("trial", "n", "outcome", sent_by="producer", sent_to="topic")
    was_sent = (pl.col("producer") == pl.col("sent_by")) & (pl.col("topic") == pl.col("sent_to"))
    return (
        log_records.filter(~pl.col("control"))
        .join(names, on="trial")
        .select(
            *_AS_THEY_ARE,
            n=pl.when(own).then("identity_n"),
            producer=pl.when(own).then("identity_producer"),
        )
        .join(sent, on=["trial", "n"], how="left")
        .with_columns(
            outcome=pl.when(was_sent).then("outcome"),
            copies=pl.when(pl.col("n").is_not_null()).then(pl.len().over("trial", "n")),
        )
        .drop("sent_by", "sent_to")
    )


def repeated(stored: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of :func:`stored` of records that are in the log more than once: few, in most trials."""
    return stored.filter(pl.col("copies") > 1)


def further(stored: pl.DataFrame, *record: str) -> pl.DataFrame:
    """Return the repeated rows after the first of each ``record`` (its columns), by partition and offset."""
    in_log = repeated(stored).sort("partition", "offset")
    return in_log.filter(pl.int_range(pl.len()).over(record) > 0)
