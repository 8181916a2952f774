"""One task of Spark: the second judgement of the trials of a bucket.

The transforms are joins, groups and windows over the tables of a bucket as polars' data frames. A process imports this
module before its first task, so the module needs little else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl
import polars.selectors as cs
import pyarrow as pa

from reports.spark.load import Bucket
from reports.spark.transforms import (
    agreement,
    anomalies,
    attempts,
    delivery,
    explained,
    latency,
    outcomes,
    wire,
)
from reports.spark.transforms.consuming import consumption
from reports.spark.transforms.stored import repeated
from reports.spark.transforms.stored import stored as stored_records

#: The workload whose clients consume.
CONSUME = "consume"


def judged(bucket: Bucket) -> Iterator[dict[str, bytes]]:
    """Yield the results of some trials of a bucket after others, each as an Arrow stream.

    Spark calls it in one process for each core. Trials have numbers here, which are quicker to join and group than
    their names.
    """
    for tables in bucket.groups():
        trials = tables["trials"]["trial"].unique().sort()
        number = pl.col("trial").cast(pl.Enum(trials)).to_physical()
        found = results({name: table.with_columns(number) for name, table in tables.items()})
        yield {name: _written(rows.with_columns(trial=trials[rows["trial"]])) for name, rows in found.items()}


def results(tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return result table -> its rows, computed from the tables of some trials. Each has the column ``trial``."""
    trials = tables["trials"].with_columns(consumes=pl.col("workload") == CONSUME)
    sent, faults = tables["operations"], tables["faults"]
    stored = stored_records(trials.filter(~pl.col("consumes")), sent, tables["log_records"])
    wrong = anomalies.anomalies(sent, stored, tables["events"], faults)
    group = consumption.of(trials, tables)
    done = pl.concat((sent, group.operations.select(sent.columns))) if group else sent
    told = pl.concat((tables["anomalies"], tables["group_anomalies"]))
    found = pl.concat((wrong, group.anomalies)) if group else wrong
    requests = outcomes.load_requests(trials, tables["frames"], tables["blocked_requests"])
    return {
        "delivery": delivery.delivery(trials, sent, stored, wrong),
        "consumption": consumption.counts(group),
        "outcomes": outcomes.outcomes(trials, done, tables["events"], faults, requests),
        "identities": agreement.identities(agreement.matched(trials, told, found)),
        "explanations": explained.explanations(trials, explained_copies(tables, stored), tables["anomalies"]),
        "latency": latency.phases(latency.classified(trials, done, faults)),
        "latency_windows": latency.windows(trials, done),
        "recovery": latency.recovery(done, faults),
        "resent": wire.resent(tables["produce_parts"], stored),
        "traffic": wire.traffic(tables["frames"]),
    }


def explained_copies(tables: Mapping[str, pl.DataFrame], stored: pl.DataFrame) -> pl.DataFrame:
    """Return the duplicates with their explanations. Requests matter only in trials that have any."""
    having = repeated(stored).select("trial").unique()
    inside = {name: table.join(having, on="trial", how="semi") for name, table in tables.items()}
    made = attempts.attempts(inside["trials"], inside["frames"], inside["produce_parts"], inside["faults"])
    batches = attempts.origins(made, stored.join(having, on="trial", how="semi"))
    return explained.duplicates(tables["trials"], stored, batches)


def _written(frame: pl.DataFrame) -> bytes:
    """Return rows as an Arrow stream. Numbers that count are plain numbers, as in the packed tables."""
    rows = frame.with_columns(cs.unsigned_integer().cast(pl.Int64)).to_arrow()
    rows = rows.cast(pa.schema([field.with_type(_plain(field.type)) for field in rows.schema]))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return bytes(sink.getvalue())


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return an Arrow type without the variants that polars prefers."""
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_list(kind):
        return pa.list_(_plain(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type)) for field in kind.fields])
    return kind
