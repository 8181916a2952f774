"""What the witness saw of producing: requests, answers, batches that were sent again.

A batch is sent again if the same bytes (partition, CRC) passed the witness in an earlier Produce request of
the trial (which has one topic): the CRC covers producer id, epoch, sequence and all records, so it names the batch. A client
that builds its batches anew for a retry is not seen here; the log tells of it.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812


def resent(produce_parts: DataFrame) -> DataFrame:
    """``trial, frame, partition, attempt``: the parts of Produce requests that are a second attempt or later."""
    same_batch = (
        Window.partitionBy("trial", "partition", "crc")
        .orderBy("t_ns", "frame")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    return (
        produce_parts.filter((F.col("kind") == "request") & F.col("crc").isNotNull())
        .withColumn("attempt", F.count("*").over(same_batch))
        .filter(F.col("attempt") > 1)
        .select("trial", "frame", "partition", "attempt")
        .orderBy("trial", "frame", "partition")
    )


def traffic(frames: DataFrame, resent: DataFrame) -> DataFrame:
    """``trial, connections, produce_requests, produce_responses, produce_errors, resent_batches``."""
    again = resent.groupBy("trial").agg(F.count("*").alias("resent_batches"))
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
            F.coalesce("resent_batches", F.lit(0)).alias("resent_batches"),
        )
        .orderBy("trial")
    )
