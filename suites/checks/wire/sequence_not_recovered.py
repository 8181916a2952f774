"""# sequence-not-recovered

## What it does

Looks for records that an idempotent producer failed because a broker answered that their sequence was out of
order, or their producer unknown, although they were the next of their partition or were already stored.

## Why it is bad

The broker has lost state, but the producer has not: it knows what was acknowledged, and may continue under a
higher epoch (KIP-360). A producer that fails permanently instead stops its service until the application
creates a new one, and hands all its unsent records back to the application.

## How it is judged per guarantee

- **idempotent, transactional**: the Java client repairs its numbers and goes on; other clients end. The level
  is SHOULD: it is a difference, unless the client documents the same behaviour.
- **at-least-once, at-most-once**: not judged; there are no sequences.

## What it needs

The history, the log and the witness's frames. They show which batch got this answer, and that it began where
the last acknowledged batch of its partition ended; or that it is in the log, and was sent again because only
its answer was lost while later answers arrived. The records that failed because of it are those of its
partition that were handed over by then, or all records if the client acknowledges no record that was handed
over later. Records whose delivery timeout had passed are left out. The check does not apply if retries are
limited.

## References

PRD-IDM-09, PRD-IDM-12 (KIP-360). librdkafka treats it as fatal if it happens to the first batch in transit.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.model.anomaly import Anomaly
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.wire.error_table import BY_NAME
from suites.analysis.contradicted import contradicted, failed_over_it
from suites.analysis.findings import listed_errors, of_send, require_unlimited_retries
from suites.analysis.promises import EXACTLY_ONCE

UNMENDED = Anomaly(
    "sequence-not-recovered",
    "{count:record} failed because the broker refused a correct sequence ({errors})",
    Level.SHOULD,
)


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the records. Unsupported if retries are limited."""
    require_unlimited_retries(evidence)
    failed = failed_over_it(evidence)
    if not failed:
        return []
    errors = listed_errors(failed.values())
    return [UNMENDED.found(len(failed), map(of_send, failed.values()), errors=errors)]


def _with(error: str) -> Callable[[Evidence], int]:
    """Return a function that counts the batches refused with this error although their sequence was right."""
    code = BY_NAME[error].code
    return lambda evidence: sum(attempt.error_code == code for attempt in contradicted(evidence))


CHECK = Check(
    name="sequence-not-recovered",
    summary="Records that failed because the broker refused a correct sequence.",
    requirements=(
        Requirement("PRD-IDM-09", Level.SHOULD, EXACTLY_ONCE, _with("OUT_OF_ORDER_SEQUENCE_NUMBER")),
        Requirement("PRD-IDM-12", Level.SHOULD, EXACTLY_ONCE, _with("UNKNOWN_PRODUCER_ID")),
    ),
    guarantees=EXACTLY_ONCE,
    requires=frozenset({"history", "frames", "log"}),
    killed_mutant="out_of_order_is_fatal",
    run=run,
)
