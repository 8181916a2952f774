"""Batches that the broker refused for their size, and the records that failed with them.

The witness says which batch was refused and how many records it had, not which. They are the records of its partition
that failed right behind the refusal, alike and in the order of sending: as many as the batch had. To which partition
a failed record would have gone is told by where others of its key are. What an earlier attempt stored did not fail for
its size.
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
#: From the refusal's passing the witness to the client's word to its application, and how far the two may be mixed up.
TOLD_WITHIN_NS = 1_000 * NS_PER_MS
SLACK_NS = 20 * NS_PER_MS


@dataclass(frozen=True)
class Refusal:
    """An attempt that was answered MESSAGE_TOO_LARGE, and the records that failed together behind it, if any did."""

    attempt: Attempt
    failed: tuple[Operation, ...]

    @property
    def is_of_one(self) -> bool:
        """True where there was nothing to split."""
        return self.attempt.part.records == 1


@view
def refusals(evidence: Evidence) -> list[Refusal]:
    """Every refusal, in the order of the attempts; each failed record belongs to one of them at most."""
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
    """A record that failed, its partition where that is known, and the attempt that stored it all the same."""

    send: Operation
    partition: int | None
    origin: Attempt | None


def _failed(evidence: Evidence) -> list[_Failed]:
    """Those that failed, in the order of sending."""
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
