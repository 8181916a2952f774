"""# oversized-batch-not-split

## What it does

Looks for batches of several records that the broker refused as too large (MESSAGE_TOO_LARGE), and whose
records then failed together, although each of them alone would have fitted.

## Why it is bad

The broker refuses the batch, and the client made the batch. The application is told that records are too
large when they are not: they are small records that shared a batch with others. An application that believes
the report drops records that have nothing wrong with them.

## How it is judged per guarantee

- **at-least-once, idempotent, transactional**: the Java client makes smaller batches and sends those; other
  clients fail the whole batch. The level is SHOULD: it is a difference, unless the client documents the same
  behaviour.
- **at-most-once**: not judged; the parts may fail at once for another reason.

## What it needs

The history, the log and the witness's frames. The records of a refused batch are those of its partition that
failed within a second after the refusal, all with the same error, and as many as the batch had. If a batch of
one record was refused too while the same limit was in force, it is unknown which records would have fitted,
and the batches of that time are not judged. Neither are records whose delivery timeout had passed. The check
does not apply if retries are limited, because parts may then fail at once for another reason.

## References

PRD-SPL-01 (KIP-126). librdkafka never splits; its error is MSG_SIZE_TOO_LARGE.
"""

from __future__ import annotations

from harness.model.anomaly import Anomaly
from harness.model.evidence import Evidence, Operation
from harness.model.rows import Finding
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from suites.analysis.excuses import grants
from suites.analysis.findings import listed_errors, of_send, require_unlimited_retries
from suites.analysis.promises import DURABLE
from suites.analysis.too_large import Refusal, refusals

UNSPLIT = Anomaly(
    "oversized-batch-not-split",
    "{count:record} of {batches} batches that were too large failed together ({errors})",
    Level.SHOULD,
)
#: A client may start its delivery timeout slightly before the call, or round it down.
SLACK_MS = 1_000


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the records. Unsupported if retries are limited."""
    require_unlimited_retries(evidence)
    config = evidence.record.spec.config
    known = refusals(evidence)
    hopeless = {_limit(evidence, refusal) for refusal in known if refusal.is_of_one}
    limit_ns = (int(config["delivery.timeout.ms"]) - SLACK_MS) * NS_PER_MS
    batches = [
        refusal.failed
        for refusal in known
        if refusal.failed
        and _limit(evidence, refusal) not in hopeless
        and not any(_took_ns(send) >= limit_ns for send in refusal.failed)
    ]
    if not batches:
        return []
    failed = [send for batch in batches for send in batch]
    errors = listed_errors(failed)
    return [UNSPLIT.found(len(failed), map(of_send, failed), batches=len(batches), errors=errors)]


@grants("beside-single-too-large")
def _limit(evidence: Evidence, refusal: Refusal) -> int | None:
    """Return which change of the topic's limit was in force when a batch was refused, or None for the original."""
    refused_ns = refusal.attempt.answered_ns or refusal.attempt.sent_ns
    return next(
        (
            row.index
            for row in evidence.faults
            if row.spec.kind == "message_size_limit"
            and row.effective_ns is not None
            and row.effective_ns[0] <= refused_ns <= row.effective_ns[1]
        ),
        None,
    )


def _refused_several(evidence: Evidence) -> int:
    """Return how many batches of several records were refused for their size."""
    return sum(not refusal.is_of_one for refusal in refusals(evidence))


def _took_ns(send: Operation) -> int:
    return (send.complete_ns or send.invoke_ns) - send.invoke_ns


CHECK = Check(
    name="oversized-batch-not-split",
    summary="Records that failed because their batch was too large, though each alone was not.",
    requirements=(Requirement("PRD-SPL-01", Level.SHOULD, arises=_refused_several),),
    guarantees=DURABLE,
    requires=frozenset({"history", "frames", "log"}),
    killed_mutant="never_splits",
    run=run,
)
