"""Findings with their samples, which are trimmed while counts never are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from harness.evidence import Send
from harness.rows import MAX_SAMPLES, Finding, LogRecord

Sample = dict[str, str | int | None]


def finding(
    anomaly: str, message: str, count: int, samples: Iterable[Sample], requirement: str = ""
) -> Finding:
    """A finding with its first samples, of one requirement or of all that its check judges."""
    return Finding(anomaly, message, count, tuple(islice(samples, MAX_SAMPLES)), requirement)


def of_send(send: Send) -> Sample:
    """The sample row of a record as its client told it."""
    return {
        "n": send.n,
        "partition": send.partition,
        "offset": send.offset,
        "outcome": send.outcome,
        "error": send.error,
        "invoke_ns": send.invoke_ns,
        "complete_ns": send.complete_ns,
    }


def of_copy(record: LogRecord, n: int | None) -> Sample:
    """The sample row of a record as it lies in the log."""
    return {
        "n": n,
        "partition": record.partition,
        "offset": record.offset,
        "producer_id": record.producer_id,
        "producer_epoch": record.producer_epoch,
        "sequence": record.sequence,
    }


def of_copies(n: int, copies: Sequence[LogRecord]) -> Sample:
    """The sample row of a record that lies at several places."""
    places = ", ".join(f"{copy.partition}/{copy.offset}" for copy in copies)
    return {"n": n, "copies": len(copies), "places": places}
