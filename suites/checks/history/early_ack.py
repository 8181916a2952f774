"""# early-ack

## What it does

Compares the time at which the client reported a record as written with the time at which the broker's answer
for it passed the witness.

## Why it is bad

With acks=all, an acknowledgement reports what the broker confirmed, not what the client expects. A client
that acknowledges before the broker has answered may get away with it for years. If the write then fails once,
the lost record has already been reported as safe.

## How it is judged per guarantee

- **at-least-once, idempotent, transactional**: forbidden. For one of the record's copies, an answer that
  confirms it must have passed before the client reported the record. A record need not be lost for this to be
  a violation.
- **at-most-once**: not judged.

## What it needs

The history, the log and the witness's frames; the setting acks=all. Five milliseconds of slack are allowed,
because the answer gets its timestamp after its bytes were passed on. DUPLICATE_SEQUENCE also confirms that a batch is
written but names no offset. It counts for the batch with the same producer id, epoch and sequence. If
something passed unread on the way to the record's broker before the record was reported, it may have
contained the answer: inconclusive.

## References

PRD-SND-16, PRD-SND-01 (KIP-679).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.model.anomaly import Anomaly
from harness.model.evidence import Evidence, Operation
from harness.model.rows import Finding, LogRecord
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Level
from harness.plugins.check import Check, Inconclusive, Requirement
from harness.wire.error_table import BY_NAME
from harness.workloads.produce import accounting
from suites.analysis.answered_errors import error_before_ack
from suites.analysis.attempts import BatchPlace, attempts, batch_place
from suites.analysis.excuses import grants
from suites.analysis.findings import UNREADABLE, of_send, require_acks_all
from suites.analysis.promises import DURABLE
from suites.analysis.unread import unread_about

EARLY = Anomaly("early-ack", "{count:record} acknowledged {told}")
UNANSWERED = "before the broker had answered"
SLACK_NS = 5 * NS_PER_MS
DUPLICATE_SEQUENCE = BY_NAME["DUPLICATE_SEQUENCE_NUMBER"].code
_SEQUENCES = 2**31


class _Numbered(NamedTuple):
    """A batch, identified by its sequence."""

    partition: int
    sequence: tuple[int, ...]


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts records. Unsupported unless acks=all."""
    require_acks_all(evidence)
    answered = _answers(evidence)
    found = evidence.copies
    early = [
        send
        for n, send in accounting.acknowledged(evidence).items()
        if n in found and not any(_said_in_time(copy, send, answered) for copy in found[n])
    ]
    hidden = {send.n: _unread(evidence, send, found[send.n]) for send in early}
    accused = [send for send in early if not hidden[send.n]]
    if early and not accused:
        doubted = EARLY.found(len(early), told=UNANSWERED)
        count = max(hidden.values())
        raise Inconclusive(UNREADABLE.reason(of=doubted.anomaly, told=doubted.message, count=count))
    return (
        [EARLY.found(len(accused), map(of_send, accused), told=_told(evidence, accused))] if accused else []
    )


def _told(evidence: Evidence, accused: Sequence[Operation]) -> str:
    """Return what the broker had answered by then: nothing, or an error for all of the records."""
    errors = {error_before_ack(evidence, send) for send in accused}
    names = sorted(error for error in errors if error)
    return UNANSWERED if None in errors else f"although the broker answered {', '.join(names)}"


def _answers(evidence: Evidence) -> dict[BatchPlace | _Numbered, int]:
    """Map each batch to when it was first confirmed as written.

    A batch is identified by its place, or by its sequence if the answer named no place.
    """
    first: dict[BatchPlace | _Numbered, int] = {}
    for attempt in attempts(evidence):
        if attempt.answered_ns is None:
            continue
        batch: BatchPlace | _Numbered
        if attempt.accepted:
            batch = attempt.place
        elif attempt.error_code == DUPLICATE_SEQUENCE and attempt.sequence is not None:
            batch = _Numbered(attempt.part.partition, attempt.sequence)
        else:
            continue
        first[batch] = min(attempt.answered_ns, first.get(batch, attempt.answered_ns))
    return first


@grants("duplicate-sequence-answer", "answer-stamped-late")
def _said_in_time(copy: LogRecord, send: Operation, answered: dict[BatchPlace | _Numbered, int]) -> bool:
    """True if an answer confirming this copy passed before the client reported the record."""
    latest_ns = (send.complete_ns or 0) + SLACK_NS
    if answered.get(batch_place(copy), latest_ns + 1) <= latest_ns:
        return True
    base = (copy.sequence - (copy.offset - copy.base_offset)) % _SEQUENCES
    numbered = _Numbered(copy.partition, (copy.producer_id, copy.producer_epoch, base))
    return answered.get(numbered, latest_ns + 1) <= latest_ns


def _unread(evidence: Evidence, send: Operation, copies: list[LogRecord]) -> int:
    """Return how many unread items may have contained the answer."""
    until_ns = (send.complete_ns or 0) + SLACK_NS
    return max(unread_about(evidence, copy.partition, send.invoke_ns, until_ns) for copy in copies)


def _acknowledged(evidence: Evidence) -> int:
    return len(evidence.acknowledged)


CHECK = Check(
    name="early-ack",
    summary="Records that the client reported as written before the broker had answered.",
    requirements=(Requirement("PRD-SND-16", Level.MUST, arises=_acknowledged),),
    guarantees=DURABLE,
    requires=frozenset({"history", "log", "frames"}),
    killed_mutant="acknowledges_before_response",
    run=run,
)
