"""Batches that the broker refused for their size, and the records that failed with them.

The witness knows which batch was refused and how many records it had, but not which records. They are taken
to be the records of its partition that failed right after the refusal, with the same error and in the order
of sending, as many as the batch had. The partition of a failed record is inferred from other records with its
key. A record that an earlier attempt stored did not fail for its size.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.model.evidence import Evidence, Operation, view
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Outcome
from harness.wire.error_table import BY_NAME
from suites.analysis.attempts import Attempt, attempts, batch_place, origins
from suites.analysis.excuses import grants
from suites.analysis.homes import home

TOO_LARGE = BY_NAME["MESSAGE_TOO_LARGE"].code
#: How soon after the refusal passed the witness the client reports it, and how much the two times may be
#: inverted.
TOLD_WITHIN_NS = 1_000 * NS_PER_MS
SLACK_NS = 20 * NS_PER_MS


@dataclass(frozen=True)
class Refusal:
    """An attempt that was answered MESSAGE_TOO_LARGE, and the records that failed together after it, if any."""

    attempt: Attempt
    failed: tuple[Operation, ...]

    @property
    def is_of_one(self) -> bool:
        """True if the batch had one record, so that there was nothing to split."""
        return self.attempt.part.records == 1


@view
def refusals(evidence: Evidence) -> list[Refusal]:
    """Return every refusal, in the order of the attempts. Each failed record belongs to at most one of them."""
    refused = [attempt for attempt in attempts(evidence) if attempt.error_code == TOO_LARGE]
    if not refused:
        return []
    left = _failed(evidence)
    found = []
    for attempt in refused:
        failed = _together(attempt, left)
        for each in failed:
            left.remove(each)
        found.append(Refusal(attempt, tuple(each.send for each in failed)))
    return found


@dataclass(frozen=True)
class _Failed:
    """A failed record, its partition if known, and the attempt that stored it anyway."""

    send: Operation
    partition: int | None
    origin: Attempt | None


def _failed(evidence: Evidence) -> list[_Failed]:
    """Return the failed records, in the order of sending."""
    stored = origins(evidence)
    found = []
    for n, send in sorted(evidence.operations.items()):
        if send.outcome is Outcome.OK or send.complete_ns is None:
            continue
        partition = home(evidence, send)
        copies = evidence.copies.get(n)
        found.append(_Failed(send, partition, stored.get(batch_place(copies[0])) if copies else None))
    return found


@grants("too-large")
def _together(attempt: Attempt, left: list[_Failed]) -> list[_Failed]:
    told_ns, count = attempt.answered_ns or 0, attempt.part.records or 0
    alike: dict[str | None, list[_Failed]] = {}
    for each in left:
        is_soon = -SLACK_NS <= (each.send.complete_ns or 0) - told_ns <= TOLD_WITHIN_NS
        was_called = each.send.invoke_ns <= attempt.sent_ns
        may_be_in_it = each.partition in (None, attempt.part.partition) and each.origin in (None, attempt)
        if is_soon and was_called and may_be_in_it:
            alike.setdefault(each.send.error, []).append(each)
    return next((group[:count] for group in alike.values() if 0 < count <= len(group)), [])
