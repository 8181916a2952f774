"""# unsplit

## What it does

Looks for batches of several records that the broker refused as too large (MESSAGE_TOO_LARGE), and whose records then
failed together, although each of them alone would have fitted.

## Why it is bad

The broker objects to the batch, and it was the client that made the batch. The application is told that records are
too large which are not: a few small ones that shared their batch with others. Whoever takes that word for it drops
records that nothing is wrong with.

## How it is judged per guarantee

- **at-least-once, idempotent, transactional**: the Java client makes smaller batches and sends those; others fail the
  whole. The level is SHOULD: it is a difference, unless the client documents the same.
- **at-most-once**: not judged; there the parts may fail of something else at once.

## What it needs

The history, the log and the witness's frames. The records of a refused batch are those of its partition that failed
within a second behind the refusal, all with the same error, and as many as the batch had. Where a batch of one record
was refused too, nobody knows which would have fitted: nothing is said. Nor is it of records whose delivery timeout was
over, nor where retries are limited: then parts may fail at once of something else.

## References

PRD-SPL-01 (KIP-126). librdkafka never splits; its error is MSG_SIZE_TOO_LARGE.
"""

from __future__ import annotations

from harness.anomaly import Anomaly
from harness.check import Check, Requirement
from harness.evidence import Evidence, Send
from harness.outcome import Level
from harness.rows import Finding
from harness.units import NS_PER_MS
from suites.checks.findings import listed_errors, of_send, require_unlimited_retries
from suites.checks.promises import DURABLE
from suites.checks.too_large import refusals

UNSPLIT = Anomaly(
    "unsplit",
    "{count:record} of {batches} batches that were too large failed together ({errors})",
    Level.SHOULD,
)
#: A client may count its delivery timeout from a little earlier than the call, or round it down.
SLACK_MS = 1_000


def find(evidence: Evidence) -> list[Finding]:
    """At most one finding, counting the records. Unsupported where retries are limited."""
    require_unlimited_retries(evidence)
    config = evidence.record.spec.config
    known = refusals(evidence)
    if any(refusal.is_of_one for refusal in known):
        return []
    limit_ns = (int(config["delivery.timeout.ms"]) - SLACK_MS) * NS_PER_MS
    batches = [
        refusal.failed
        for refusal in known
        if refusal.failed and not any(_took_ns(send) >= limit_ns for send in refusal.failed)
    ]
    if not batches:
        return []
    failed = [send for batch in batches for send in batch]
    errors = listed_errors(failed)
    return [UNSPLIT.found(len(failed), map(of_send, failed), batches=len(batches), errors=errors)]


def _took_ns(send: Send) -> int:
    return (send.complete_ns or send.invoke_ns) - send.invoke_ns


CHECK = Check(
    name="unsplit",
    summary="Records that failed because their batch was too large, though each alone was not.",
    requirements=(Requirement("PRD-SPL-01", Level.SHOULD),),
    guarantees=DURABLE,
    channels=frozenset({"history", "frames", "log"}),
    mutant="never_splits",
    find=find,
)
