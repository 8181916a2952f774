"""Deliveries compared with the log: what was missed, passed over, repeated, or is not what the log has."""

from __future__ import annotations

import polars as pl

from harness.workloads.consume.fates import COMMITTED
from reports.spark.transforms.consuming.rows import PLACE, rows

#: A delivery: ``event`` is the place of its report, ``order`` its place in the table.
_ENTRY = ["trial", "event", "order"]
_IDENTITY = ("identity_run", "identity_trial", "identity_producer", "identity_n")


def log_of(trials: pl.DataFrame, log_records: pl.DataFrame) -> pl.DataFrame:
    """Return the data records of the logs of the trials that consume: ``PLACE``, identity and size of each value."""
    mine = log_records.join(trials, on="trial", how="semi")
    return mine.filter(~pl.col("control")).select(*PLACE, "intact", "value_bytes", *_IDENTITY)


def promised(log: pl.DataFrame, readers: pl.DataFrame, transaction_records: pl.DataFrame) -> pl.DataFrame:
    """Return the records of the log that members must be given: not aborted ones, unless they read uncommitted."""
    hides = readers.filter(pl.col("isolation").fill_null(COMMITTED) == COMMITTED)
    aborted = transaction_records.filter(~pl.col("committed")).join(hides, on="trial", how="semi")
    return log.join(aborted, on=PLACE, how="anti")


def of_this_log(deliveries: pl.DataFrame, log: pl.DataFrame, aside: pl.DataFrame) -> pl.DataFrame:
    """Return the deliveries without those of records that the harness wrote aside and the log does not have now."""
    written, kept = _with_content(deliveries, aside), _with_content(deliveries, log)
    lost = written.join(kept, on=_ENTRY, how="anti")
    return deliveries.join(lost, on=_ENTRY, how="anti")


def _with_content(deliveries: pl.DataFrame, records: pl.DataFrame) -> pl.DataFrame:
    """Return the entries of the deliveries whose place and content a record has."""
    mine = deliveries.join(records.select(PLACE).unique(), on=PLACE, how="semi")
    pairs = mine.join(records, on=PLACE, suffix="_log")
    return pairs.filter(_is_same()).select(_ENTRY).unique()


def missed(log: pl.DataFrame, deliveries: pl.DataFrame) -> pl.DataFrame:
    """Return the records of the log that no member got."""
    return rows(log.join(deliveries, on=PLACE, how="anti"), "missed")


def skipped(missed: pl.DataFrame, deliveries: pl.DataFrame, stored_offsets: pl.DataFrame) -> pl.DataFrame:
    """Return those of them that the group went past, by a later delivery or by the offset that it has stored."""
    reached = deliveries.select(*PLACE[:2], end=pl.col("offset") + 1)
    stored = stored_offsets.select(*PLACE[:2], end="offset")
    ends = pl.concat((reached, stored)).group_by(PLACE[:2]).agg(pl.col("end").max())
    return rows(missed.join(ends, on=PLACE[:2]).filter(pl.col("offset") < pl.col("end")), "skipped")


def redelivered(deliveries: pl.DataFrame) -> pl.DataFrame:
    """Return each delivery of a place beyond the first one."""
    number = pl.int_range(pl.len()).over(PLACE)
    return rows(deliveries.sort("event", "order").filter(number > 0), "redelivered", pl.col("member"))


def foreign(log: pl.DataFrame, deliveries: pl.DataFrame) -> pl.DataFrame:
    """Return the deliveries whose content is not that of the log.

    Contents are compared by their identities. Of contents without one, only the sizes are known.
    """
    known = log.with_columns(is_known=True).unique(PLACE, keep="last")
    pairs = deliveries.join(known, on=PLACE, how="left", suffix="_log")
    is_odd = pl.col("is_known").is_null() | ~_is_same()
    return rows(pairs.filter(is_odd), "foreign", pl.col("member"))


def _is_same() -> pl.Expr:
    same = pl.all_horizontal(pl.col(name) == pl.col(f"{name}_log") for name in _IDENTITY)
    neither = ~pl.col("intact") & ~pl.col("intact_log")
    same_size = pl.col("value_bytes").eq_missing(pl.col("value_bytes_log"))
    return pl.when(neither).then(same_size).otherwise(same.fill_null(value=False))


def operations(trials: pl.DataFrame, written: pl.DataFrame, deliveries: pl.DataFrame) -> pl.DataFrame:
    """Return the written records as operations: each is done when a member first got it, and unknown until then."""
    own = trials.select("trial", "topic", own_run="run")
    got = (
        deliveries.join(own, on="trial")
        .filter(
            "intact",
            pl.col("identity_run") == pl.col("own_run"),
            pl.col("identity_trial") == pl.col("topic"),
            pl.col("identity_producer") == "p1",
        )
        .sort("event", "order")
        .group_by("trial", pl.col("identity_n").alias("n"))
        .agg(pl.col("polled_ns", "partition", "offset").first())
        .rename({"polled_ns": "complete_ns"})
    )
    first = written.group_by("trial", "n", maintain_order=True).agg(pl.col("invoke_ns").last())
    return (
        first.join(got, on=["trial", "n"], how="left")
        .join(own.select("trial", "topic"), on="trial")
        .with_columns(
            producer=pl.lit("p1"),
            outcome=pl.when(pl.col("complete_ns").is_null()).then(pl.lit("info")).otherwise(pl.lit("ok")),
        )
        .sort("trial", "n")
    )
