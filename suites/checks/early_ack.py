"""# early-ack

## What it does

Holds the moment at which the client reported a record as written against the moment at which the broker's answer for
it passed the witness.

## Why it is bad

With acks=all an acknowledgement is the broker's word, not the client's hope. A client that speaks before the broker
has answered may be lucky for years; the record that is lost on the one day on which it is not has been reported safe.

## How it is judged per guarantee

- **at-least-once, idempotent, transactional**: forbidden. An answer that says so must have passed, for one of the
  record's copies, before the client reported it; it need not be lost for this to be wrong.
- **at-most-once**: not judged.

## What it needs

The history, the log and the witness's frames; settings acks=all. Five milliseconds of slack. Where the witness could
not read part of the traffic it is inconclusive; a partition in which a broker answered DUPLICATE_SEQUENCE, which names
no offset, is left out.

## References

PRD-SND-16, PRD-SND-01 (KIP-679).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness import delivery
from harness.anomaly import Anomaly
from harness.check import Check, Requirement
from harness.evidence import Evidence, Send
from harness.outcome import Level
from harness.rows import Finding, LogRecord
from suites.checks.attempts import attempts, undecoded
from suites.checks.disturbance import NS_PER_MS
from suites.checks.findings import doubt_if_unreadable, of_send, require_acks_all
from suites.checks.promises import DURABLE

EARLY = Anomaly("early-ack", "{count:record} acknowledged before the broker had answered")
SLACK_NS = 5 * NS_PER_MS
DUPLICATE_SEQUENCE = 46


def find(evidence: Evidence) -> list[Finding]:
    """At most one finding, counting records. Unsupported unless acks=all."""
    require_acks_all(evidence)
    answered, unclear = _answers(evidence)
    found = evidence.copies
    early = [
        send
        for n, send in delivery.acknowledged(evidence).items()
        if n in found and not _may_be_told(send, found[n], answered, unclear)
    ]
    if not early:
        return []
    found_early = EARLY.found(len(early), map(of_send, early))
    doubt_if_unreadable(found_early, undecoded(evidence))
    return [found_early]


def _answers(evidence: Evidence) -> tuple[dict[tuple[int, int], int], set[int]]:
    """When the batch at each place was first answered as written, and the partitions with answers without an offset."""
    first: dict[tuple[int, int], int] = {}
    unclear: set[int] = set()
    for attempt in attempts(evidence):
        if attempt.error_code == DUPLICATE_SEQUENCE:
            unclear.add(attempt.part.partition)
        elif attempt.accepted and attempt.answered_ns is not None:
            first[attempt.place] = min(attempt.answered_ns, first.get(attempt.place, attempt.answered_ns))
    return first, unclear


def _may_be_told(
    send: Send, copies: Sequence[LogRecord], answered: Mapping[tuple[int, int], int], unclear: set[int]
) -> bool:
    """True if an answer for one of the copies came in time, or may have."""
    latest_ns = (send.complete_ns or 0) + SLACK_NS
    for copy in copies:
        answered_ns = answered.get((copy.partition, copy.base_offset))
        if copy.partition in unclear or (answered_ns is not None and answered_ns <= latest_ns):
            return True
    return False


CHECK = Check(
    name="early-ack",
    summary="Records that the client reported as written before the broker had answered.",
    requirements=(Requirement("PRD-SND-16", Level.MUST),),
    guarantees=DURABLE,
    channels=frozenset({"history", "log", "frames"}),
    mutant="acknowledges_before_response",
    find=find,
)
