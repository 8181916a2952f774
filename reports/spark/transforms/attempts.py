"""Produce attempts, from the packed frames: the request, its response, and the batch that it put into the log.

An attempt is one partition of one Produce request. It *failed* if the client had a reason to send again:

- It was answered with an error.
- No response passed on its connection, or the connection had been closed before.
- The response passed later than ``request.timeout.ms`` after the request, less what a latency fault may have added.
- The response passed while a fault that withholds responses was in effect, or the connection closed within
  :data:`SLACK_MS` of the response while any fault was in effect: the response may not have reached the client.

A request counts from its arrival at the witness, however long a rule held it there. The edges of faults and the timeout
have a tolerance of :data:`SLACK_MS`.
"""

from __future__ import annotations

import re

import msgspec
import polars as pl

from reports.spark.transforms.units import NS_PER_MS

SLACK_MS = 500
SLACK_NS = SLACK_MS * NS_PER_MS
#: Faults that lose a response only together with its connection. Any other kind may withhold responses.
NEVER_WITHHOLDS = ("latency", "disconnect", "reset", "refuse")

_EXCHANGE = ("trial", "conn", "correlation_id", "topic", "partition")
_SAME_BATCH = ("trial", "partition", "batch")
_WHOLE = re.compile("[+-]?[0-9]{1,15}")


def attempts(
    trials: pl.DataFrame, frames: pl.DataFrame, produce_parts: pl.DataFrame, faults: pl.DataFrame
) -> pl.DataFrame:
    """Return ``trial, frame, conn, broker, partition, asked_ns, base_offset, batch, failure``, one row per attempt.

    ``base_offset`` is null if no response says that the batch was stored. ``batch`` names the batch by its sequence or
    its CRC. ``failure`` is a clause or null.
    """
    asked = produce_parts.filter(pl.col("kind") == "request").select(
        *_EXCHANGE,
        "frame",
        "broker",
        asked_ns=pl.coalesce("received_ns", "t_ns"),
        batch=_batch("producer_id", "producer_epoch", "base_sequence", "crc"),
    )
    answered = (
        produce_parts.filter(pl.col("kind") == "response")
        .sort("t_ns")
        .group_by(_EXCHANGE)
        .agg(pl.col("t_ns", "base_offset", "error_code").first())
        .rename({"t_ns": "answered_ns"})
    )
    closed = (
        frames.filter(pl.col("kind") == "close").group_by("trial", "conn").agg(closed_ns=pl.col("t_ns").min())
    )
    exchanges = (
        asked.join(answered, on=_EXCHANGE, how="left")
        .join(closed, on=["trial", "conn"], how="left")
        .join(trials.select("trial", "request_timeout_ms"), on="trial")
        .with_row_index("attempt")
    )
    is_stored = (pl.col("error_code") == 0) & (pl.col("base_offset") >= 0)
    return exchanges.join(_effects(exchanges, faults), on="attempt", how="left").select(
        *("trial", "frame", "conn", "broker", "partition", "asked_ns", "batch"),
        base_offset=pl.when(is_stored).then("base_offset"),
        failure=_failure(),
    )


def origins(attempts: pl.DataFrame, stored: pl.DataFrame) -> pl.DataFrame:
    """Return the attempt that stored each batch.

    The columns are ``trial, partition, base_offset, frame, conn, broker, asked_ns, failure``. The attempt is matched by
    the position in the response (if several match, the last one), else by the batch's name: of the remaining batches
    and attempts with one name, the first belongs to the first, and so on. A batch without an attempt is missing.
    """
    place = ("trial", "partition", "base_offset")
    how = ("frame", "conn", "broker", "asked_ns", "failure")
    named = _batch("producer_id", "producer_epoch", "sequence", "batch_crc")
    batches = stored.sort("offset").group_by(place).agg(batch=named.first())
    answers = attempts.filter(pl.col("base_offset").is_not_null()).sort("asked_ns", "frame")
    told = answers.unique(place, keep="last").join(batches, on=place, how="semi").select(*place, *how)
    nth = pl.int_range(pl.len()).over(_SAME_BATCH)
    left = batches.join(told, on=place, how="anti").sort("base_offset").with_columns(nth=nth)
    silent = attempts.filter(pl.col("base_offset").is_null()).drop("base_offset")
    in_turn = silent.sort("asked_ns", "frame").with_columns(nth=nth)
    return pl.concat((told, left.join(in_turn, on=[*_SAME_BATCH, "nth"]).select(*place, *how)))


def _batch(producer_id: str, epoch: str, sequence: str, crc: str) -> pl.Expr:
    numbered = pl.concat_str(producer_id, epoch, sequence, separator="/", ignore_nulls=True)
    return pl.when(pl.col(producer_id) >= 0).then(numbered).otherwise(pl.format("crc {}", crc))


def _effects(exchanges: pl.DataFrame, faults: pl.DataFrame) -> pl.DataFrame:
    """Return ``attempt, withheld, disturbed, delay_ns``: what the faults in effect, with tolerance, may have done.

    ``delay_ns`` is what latency faults in effect between request and response may have added.
    """
    begin, end = pl.col("effective_start_ns") - SLACK_NS, pl.col("effective_end_ns") + SLACK_NS
    answered, closed, asked = pl.col("answered_ns"), pl.col("closed_ns"), pl.col("asked_ns")
    delay_ns = pl.col("params_json").map_elements(longest_ms, pl.Int64) * NS_PER_MS
    windows = faults.select(
        "trial",
        begin=begin,
        end=end,
        withholds=~pl.col("kind").is_in(NEVER_WITHHOLDS),
        delay_ns=pl.when(pl.col("kind") == "latency").then(delay_ns).otherwise(0),
    ).drop_nulls(["begin", "end"])
    meets = (pl.col("begin") <= answered) & (pl.col("end") >= asked)
    return (
        exchanges.join(windows, on="trial")
        .group_by("attempt")
        .agg(
            withheld=(pl.col("withholds") & answered.is_between("begin", "end")).any(),
            disturbed=closed.is_between("begin", "end").any(),
            delay_ns=pl.col("delay_ns").filter(meets).sum(),
        )
    )


def longest_ms(params_json: str) -> int:
    """Return the longest delay among a latency fault's parameters; 0 if none of them is a whole number."""
    try:
        params = msgspec.json.decode(params_json, type=dict[str, object])
    except (msgspec.MsgspecError, RecursionError):
        return 0
    told = [str(value) for value in params.values() if not isinstance(value, bool)]
    return max((int(value) for value in told if _WHOLE.fullmatch(value)), default=0)


def _failure() -> pl.Expr:
    answered, closed, asked = pl.col("answered_ns"), pl.col("closed_ns"), pl.col("asked_ns")
    limit_ns = pl.col("request_timeout_ms") * NS_PER_MS - SLACK_NS - pl.col("delay_ns").fill_null(0)
    cut_off = pl.col("disturbed") & (closed - answered <= SLACK_NS)
    return (
        pl.when(answered.is_null())
        .then(pl.lit("it was never answered"))
        .when(pl.col("error_code") != 0)
        .then(pl.format("it was answered with error {}", "error_code"))
        .when(closed <= answered)
        .then(pl.lit("its connection had closed before the answer"))
        .when(answered - asked > limit_ns)
        .then(pl.lit("it was answered after request.timeout.ms"))
        .when("withheld")
        .then(pl.lit("it was answered while a fault withheld answers"))
        .when(cut_off)
        .then(pl.lit("its connection was cut off together with the answer"))
    )
