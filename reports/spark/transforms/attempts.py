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

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

SLACK_MS = 500
NS_PER_MS = 1_000_000
SLACK_NS = SLACK_MS * NS_PER_MS
#: Faults that lose a response only together with its connection. Any other kind may withhold responses.
NEVER_WITHHOLDS = ("latency", "disconnect", "reset", "refuse")

_EXCHANGE = ("trial", "conn", "correlation_id", "topic", "partition")
_SAME_BATCH = ("trial", "partition", "batch")


def attempts(trials: DataFrame, frames: DataFrame, produce_parts: DataFrame, faults: DataFrame) -> DataFrame:
    """Return ``trial, frame, conn, broker, partition, asked_ns, base_offset, batch, failure``, one row per attempt.

    ``base_offset`` is null if no response says that the batch was stored. ``batch`` names the batch by its sequence or
    its CRC. ``failure`` is a clause or null.
    """
    asked = produce_parts.filter(F.col("kind") == "request").select(
        *_EXCHANGE,
        "frame",
        "broker",
        F.coalesce("received_ns", "t_ns").alias("asked_ns"),
        _batch("producer_id", "producer_epoch", "base_sequence", "crc").alias("batch"),
    )
    first = F.min_by(F.struct("base_offset", "error_code"), "t_ns")
    answered = (
        produce_parts.filter(F.col("kind") == "response")
        .groupBy(*_EXCHANGE)
        .agg(F.min("t_ns").alias("answered_ns"), first.alias("answer"))
        .select(*_EXCHANGE, "answered_ns", "answer.base_offset", "answer.error_code")
    )
    closed = (
        frames.filter(F.col("kind") == "close").groupBy("trial", "conn").agg(F.min("t_ns").alias("closed_ns"))
    )
    is_stored = (F.col("error_code") == 0) & (F.col("base_offset") >= 0)
    return (
        asked.join(answered, list(_EXCHANGE), how="left")
        .join(closed, ["trial", "conn"], how="left")
        .join(trials.select("trial", "request_timeout_ms"), "trial", how="inner")
        .join(_windows(faults), "trial", how="left")
        .select(
            *("trial", "frame", "conn", "broker", "partition", "asked_ns", "batch"),
            F.when(is_stored, F.col("base_offset")).alias("base_offset"),
            _failure().alias("failure"),
        )
    )


def origins(attempts: DataFrame, stored: DataFrame) -> DataFrame:
    """Return the attempt that stored each batch.

    The columns are ``trial, partition, base_offset, frame, conn, broker, asked_ns, failure``. The attempt is matched by
    the position in the response (if several match, the last one), else by the batch's name: of the remaining batches
    and attempts with one name, the first belongs to the first, and so on. A batch without an attempt is missing.
    """
    place = ("trial", "partition", "base_offset")
    how = ("frame", "conn", "broker", "asked_ns", "failure")
    named = F.min_by(_batch("producer_id", "producer_epoch", "sequence", "batch_crc"), "offset")
    batches = stored.groupBy(*place).agg(named.alias("batch"))
    answers = Window.partitionBy(*place).orderBy(F.desc("asked_ns"), F.desc("frame"))
    told = (
        attempts.filter(F.col("base_offset").isNotNull())
        .withColumn("nth", F.row_number().over(answers))
        .filter(F.col("nth") == 1)
        .join(batches, list(place), how="left_semi")
        .select(*place, *how)
    )
    in_log = Window.partitionBy(*_SAME_BATCH).orderBy("base_offset")
    in_time = Window.partitionBy(*_SAME_BATCH).orderBy("asked_ns", "frame")
    left = batches.join(told, list(place), how="left_anti").withColumn("nth", F.row_number().over(in_log))
    silent = (
        attempts.filter(F.col("base_offset").isNull())
        .drop("base_offset")
        .withColumn("nth", F.row_number().over(in_time))
    )
    return told.unionByName(left.join(silent, [*_SAME_BATCH, "nth"], how="inner").select(*place, *how))


def _batch(producer_id: str, epoch: str, sequence: str, crc: str) -> Column:
    numbered = F.col(producer_id) >= 0
    return F.when(numbered, F.concat_ws("/", producer_id, epoch, sequence)).otherwise(
        F.concat(F.lit("crc "), F.col(crc))
    )


def _windows(faults: DataFrame) -> DataFrame:
    """Return ``trial, windows[begin_ns, end_ns, withholds, delay_ns]``: the faults in effect, with tolerance."""
    delays_ms = F.map_values(F.from_json("params_json", "map<string,string>"))
    longest_ms = F.array_max(F.transform(delays_ms, lambda told: told.try_cast("long")))
    window = F.struct(
        (F.col("effective_start_ns") - SLACK_NS).alias("begin_ns"),
        (F.col("effective_end_ns") + SLACK_NS).alias("end_ns"),
        (~F.col("kind").isin(*NEVER_WITHHOLDS)).alias("withholds"),
        F.when(F.col("kind") == "latency", F.coalesce(longest_ms, F.lit(0)) * NS_PER_MS)
        .otherwise(0)
        .alias("delay_ns"),
    )
    in_effect = F.col("effective_start_ns").isNotNull() & F.col("effective_end_ns").isNotNull()
    return faults.filter(in_effect).groupBy("trial").agg(F.collect_list(window).alias("windows"))


def _failure() -> Column:
    answered, closed, asked = F.col("answered_ns"), F.col("closed_ns"), F.col("asked_ns")
    windows = F.coalesce("windows", F.array())
    limit_ns = F.col("request_timeout_ms") * NS_PER_MS - SLACK_NS - _delay_ns(windows)
    withheld = F.exists(windows, lambda w: w["withholds"] & answered.between(w["begin_ns"], w["end_ns"]))
    disturbed = F.exists(windows, lambda w: closed.between(w["begin_ns"], w["end_ns"]))
    error = F.concat(F.lit("it was answered with error "), F.col("error_code"))
    return (
        F.when(answered.isNull(), "it was never answered")
        .when(F.col("error_code") != 0, error)
        .when(closed <= answered, "its connection had closed before the answer")
        .when(answered - asked > limit_ns, "it was answered after request.timeout.ms")
        .when(withheld, "it was answered while a fault withheld answers")
        .when(
            disturbed & (closed - answered <= SLACK_NS), "its connection was cut off together with the answer"
        )
    )


def _delay_ns(windows: Column) -> Column:
    """Return the delay that latency faults in effect between request and response may have added."""

    def meets(window: Column) -> Column:
        return (window["begin_ns"] <= F.col("answered_ns")) & (window["end_ns"] >= F.col("asked_ns"))

    def add(total: Column, window: Column) -> Column:
        return total + window["delay_ns"]

    return F.aggregate(F.filter(windows, meets), F.lit(0).cast("long"), add)
