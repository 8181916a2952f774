"""What the witness saw of producing: requests, answers, records that were sent again.

A part of a Produce request sends again if one of two things is true. Its very bytes passed the witness before: the
CRC covers producer id, epoch, sequence and all records, so it names the batch. Or the batch that was stored for it
holds a further copy of a record that lies in the log already: so retries are seen of clients that build their
batches anew. (A batch that was built anew and whose first attempt never reached the broker is not seen.)
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

PART = ("trial", "frame", "partition")


def resent(produce_parts: DataFrame, stored: DataFrame) -> DataFrame:
    """``trial, frame, partition``: the parts of Produce requests that send again; ``stored``: see ``delivery``."""
    return same_bytes(produce_parts).union(further_copies(produce_parts, stored)).distinct().select(*PART)


def same_bytes(produce_parts: DataFrame) -> DataFrame:
    """``trial, frame, partition``: the parts whose CRC has passed in an earlier request."""
    same_batch = Window.partitionBy("trial", "partition", "crc").orderBy("t_ns", "frame")
    return (
        produce_parts.filter((F.col("kind") == "request") & F.col("crc").isNotNull())
        .withColumn("attempt", F.row_number().over(same_batch))
        .filter(F.col("attempt") > 1)
        .select(*PART)
    )


def further_copies(produce_parts: DataFrame, stored: DataFrame) -> DataFrame:
    """``trial, frame, partition``: the parts that were answered with the place of a batch that repeats a record."""
    exchange = ("trial", "broker", "conn", "correlation_id", "partition")
    requests = produce_parts.filter(F.col("kind") == "request").select(*exchange, "frame")
    answers = produce_parts.filter((F.col("kind") == "response") & (F.col("base_offset") >= 0))
    copies = Window.partitionBy("trial", "n").orderBy("partition", "offset")
    repeating = (
        stored.filter(F.col("n").isNotNull())
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


def traffic(frames: DataFrame, resent: DataFrame) -> DataFrame:
    """``trial, connections, produce_requests, produce_responses, produce_errors, resent_parts``."""
    again = resent.groupBy("trial").agg(F.count("*").alias("resent_parts"))
    produce = F.col("api") == "Produce"
    return (
        frames.groupBy("trial")
        .agg(
            F.count_if(F.col("kind") == "open").alias("connections"),
            F.count_if(produce & (F.col("kind") == "request")).alias("produce_requests"),
            F.count_if(produce & (F.col("kind") == "response")).alias("produce_responses"),
            F.count_if(produce & (F.size("error_codes") > 0)).alias("produce_errors"),
        )
        .join(again, "trial", how="left")
        .select(
            "trial",
            "connections",
            "produce_requests",
            "produce_responses",
            "produce_errors",
            F.coalesce("resent_parts", F.lit(0)).alias("resent_parts"),
        )
    )
