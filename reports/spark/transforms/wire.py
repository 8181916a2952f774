"""The witness's view of producing: requests, responses, and records that were sent again.

A part of a Produce request counts as sent again in two cases. In the first, its exact bytes passed the witness before:
the CRC covers producer id, epoch, sequence and all records, so it identifies the batch. In the second, the batch that
was stored for it contains another copy of a record that is already in the log, which detects the retries of clients
that rebuild their batches. (A rebuilt batch whose first attempt never reached the broker is not detected.)
"""

from __future__ import annotations

import polars as pl

from reports.spark.transforms.stored import further

PART = ("trial", "frame", "partition")


def resent(produce_parts: pl.DataFrame, stored: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, frame, partition`` of request parts that send again. ``stored``: see
    :func:`reports.spark.transforms.stored.stored`.
    """
    return pl.concat((same_bytes(produce_parts), further_copies(produce_parts, stored))).unique()


def same_bytes(produce_parts: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, frame, partition`` of the parts whose CRC has passed in an earlier request."""
    requests = produce_parts.filter(pl.col("kind") == "request", pl.col("crc").is_not_null())
    attempt = pl.int_range(pl.len()).over("trial", "partition", "crc")
    return requests.sort("t_ns", "frame").filter(attempt > 0).select(PART)


def further_copies(produce_parts: pl.DataFrame, stored: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, frame, partition`` of the parts whose response names a batch that repeats a record."""
    exchange = ["trial", "broker", "conn", "correlation_id", "partition"]
    requests = produce_parts.filter(pl.col("kind") == "request").select(*exchange, "frame")
    answers = produce_parts.filter(pl.col("kind") == "response", pl.col("base_offset") >= 0)
    return (
        answers.select(*exchange, "base_offset")
        .join(further(stored, "trial", "n"), on=["trial", "partition", "base_offset"], how="semi")
        .join(requests, on=exchange)
        .select(PART)
    )


def traffic(frames: pl.DataFrame) -> pl.DataFrame:
    """Return ``trial, connections, produce_requests, produce_responses, produce_errors``."""
    produce = pl.col("api") == "Produce"
    return frames.group_by("trial").agg(
        connections=(pl.col("kind") == "open").sum(),
        produce_requests=(produce & (pl.col("kind") == "request")).sum(),
        produce_responses=(produce & (pl.col("kind") == "response")).sum(),
        produce_errors=(produce & (pl.col("error_codes").list.len() > 0)).sum(),
    )
