"""The witness's view of producing: requests, responses, and records that were sent again.

A part of a Produce request counts as sent again in two cases. In the first, its exact bytes passed the witness before:
the CRC covers producer id, epoch, sequence and all records, so it identifies the batch. In the second, the batch that
was stored for it contains another copy of a record that is already in the log, which detects the retries of clients
that rebuild their batches. (A rebuilt batch whose first attempt never reached the broker is not detected.)
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from reports.spark.transforms.stored import repeated

PART = ("trial", "frame", "partition")


def resent(produce_parts: DataFrame, stored: DataFrame) -> DataFrame:
    """Return ``trial, frame, partition`` of request parts that send again. ``stored``: see
    :func:`reports.spark.transforms.stored.stored`.
    """
    return same_bytes(produce_parts).union(further_copies(produce_parts, stored)).distinct().select(*PART)


def same_bytes(produce_parts: DataFrame) -> DataFrame:
    """Return ``trial, frame, partition`` of the parts whose CRC has passed in an earlier request."""
    same_batch = Window.partitionBy("trial", "partition", "crc").orderBy("t_ns", "frame")
    return (
        produce_parts.filter((F.col("kind") == "request") & F.col("crc").isNotNull())
        .withColumn("attempt", F.row_number().over(same_batch))
        .filter(F.col("attempt") > 1)
        .select(*PART)
    )


def further_copies(produce_parts: DataFrame, stored: DataFrame) -> DataFrame:
    """Return ``trial, frame, partition`` of the parts whose response names a batch that repeats a record."""
    exchange = ("trial", "broker", "conn", "correlation_id", "partition")
    requests = produce_parts.filter(F.col("kind") == "request").select(*exchange, "frame")
    answers = produce_parts.filter((F.col("kind") == "response") & (F.col("base_offset") >= 0))
    copies = Window.partitionBy("trial", "n").orderBy("partition", "offset")
    repeating = (
        repeated(stored)
        .withColumn("copy", F.row_number().over(copies))
        .filter(F.col("copy") > 1)
        .select("trial", "partition", "base_offset")
    )
    return (
        answers.select(*exchange, "base_offset")
        .join(repeating, ["trial", "partition", "base_offset"], how="left_semi")
        .join(requests, list(exchange), how="inner")
        .select(*PART)
    )


def traffic(frames: DataFrame) -> DataFrame:
    """Return ``trial, connections, produce_requests, produce_responses, produce_errors``."""
    produce = F.col("api") == "Produce"
    return (
        frames.groupBy("trial")
        .agg(
            F.count_if(F.col("kind") == "open").alias("connections"),
            F.count_if(produce & (F.col("kind") == "request")).alias("produce_requests"),
            F.count_if(produce & (F.col("kind") == "response")).alias("produce_responses"),
            F.count_if(produce & (F.size("error_codes") > 0)).alias("produce_errors"),
        )
        .select("trial", "connections", "produce_requests", "produce_responses", "produce_errors")
    )
