"""How the transactions of a topic ended, and which records a reader must be given for it. Pure views.

The harness ended each of its transactions, and told so in the history. The log's markers say the same, which is a rule
of completeness.
"""

from __future__ import annotations

from typing import Final

from harness.model.evidence import Evidence, view
from harness.model.harness_events import TransactionEnded

ISOLATION: Final = "isolation.level"
COMMITTED, UNCOMMITTED = "read_committed", "read_uncommitted"


def reads_committed(evidence: Evidence) -> bool | None:
    """Return whether the members read only what is committed; None if their client could not be told."""
    if ISOLATION in evidence.record.not_set:
        return None
    return evidence.record.spec.config.get(ISOLATION) == COMMITTED


@view
def fates(evidence: Evidence) -> dict[tuple[int, int], TransactionEnded]:
    """Return (partition, offset) -> the end of the transaction to which that record belongs, if it does."""
    return {
        place: event
        for event in evidence.history
        if isinstance(event, TransactionEnded)
        for place in zip(event.partitions, event.offsets, strict=True)
    }


@view
def withheld(evidence: Evidence) -> frozenset[tuple[int, int]]:
    """Return the places of records that members need not be given: they are aborted."""
    if reads_committed(evidence) is False:
        return frozenset()
    return frozenset(place for place, end in fates(evidence).items() if not end.committed)
