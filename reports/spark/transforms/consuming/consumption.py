"""All of the second judgement of trials that consume: their operations, anomalies and counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from harness.model.verdicts import Guarantee
from harness.workloads.consume.tables import CONSUMPTION
from reports.spark.transforms.consuming import commits, deliveries, ownership
from reports.spark.transforms.consuming.rows import in_order
from reports.spark.transforms.stored import outcome_is


class Consumed(NamedTuple):
    """The trials that consume, the written records as operations, and the anomalies."""

    trials: pl.DataFrame
    operations: pl.DataFrame
    anomalies: pl.DataFrame


def of(trials: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> Consumed | None:
    """Return the second judgement of the trials that consume, or None if there are none."""
    mine = trials.filter("consumes")
    if mine.is_empty():
        return None
    got = in_order(tables["deliveries"])
    read = deliveries.operations(mine, tables["written_records"], got)
    return Consumed(mine, read, anomalies(mine, got, tables))


def anomalies(trials: pl.DataFrame, got: pl.DataFrame, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return all anomalies. What a process did is judged only of those of the client under test."""
    log = deliveries.log_of(trials, tables["log_records"])
    promised = deliveries.promised(log, tables["readers"], tables["transaction_records"])
    of_this_log = deliveries.of_this_log(got, log, tables["aside_records"])
    missed = deliveries.missed(promised, of_this_log)
    others = tables["members"].filter(pl.col("companion") != "").select("trial", "member")
    found = ownership.stretches(tables["ownership_events"], got)
    owned = ownership.owners(found)
    tried = owned.join(others, on=["trial", "member"], how="anti")
    made = ownership.steps(ownership.given(found, tried))
    told = in_order(tables["commits"])
    after = trials.filter(pl.col("guarantee") == Guarantee.AT_LEAST_ONCE.value)
    early = commits.early(told.join(after, on="trial", how="semi"), got)
    return pl.concat(
        (
            missed,
            deliveries.skipped(missed, of_this_log, tables["stored_offsets"]),
            deliveries.redelivered(got),
            deliveries.foreign(log, of_this_log),
            ownership.backwards(made),
            ownership.gaps(made, promised),
            ownership.two_owners(owned),
            early.join(others, left_on=["trial", "detail"], right_on=["trial", "member"], how="anti"),
            commits.regress(told, found, tried),
        )
    )


def counts(found: Consumed | None) -> pl.DataFrame:
    """Return ``trial`` and the counts of ``CONSUMPTION``, one row for each trial that consumes."""
    if found is None:
        return pl.DataFrame(schema={"trial": pl.UInt32, **dict.fromkeys(CONSUMPTION, pl.Int64)})
    done = found.operations.group_by("trial").agg(written=pl.len(), delivered=outcome_is("ok").sum())
    kinds = ("missed", "redelivered", "foreign")
    wrong = found.anomalies.group_by("trial").agg(
        (pl.col("kind") == kind).sum().alias(kind) for kind in kinds
    )
    return (
        found.trials.select("trial")
        .join(done, on="trial", how="left")
        .join(wrong, on="trial", how="left")
        .select("trial", pl.col(*CONSUMPTION).fill_null(0))
    )
