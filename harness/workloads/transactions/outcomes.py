"""How each transaction ended, in the log and by the client's reports. Pure views.

A *transaction* here is one command of the plan: its records, and the end that it asked for. In the log, a record with a
producer id belongs to the next marker of that producer in its partition, as a reader under ``read_committed`` sees it.
A record without a producer id belongs to none, and is visible at once.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from harness.model.evidence import Evidence, view
from harness.model.rows import LogRecord
from harness.model.verdicts import Outcome
from harness.workloads.transactions.commands import COMMIT, End, end_of

#: What the key of a control record says (:func:`harness.brokers.log_reader.log_records`).
COMMIT_MARKER, ABORT_MARKER = "COMMIT", "ABORT"


class Fate(StrEnum):
    """The outcome of a record of the log: it is visible, aborted, or its transaction has not ended."""

    VISIBLE = "visible"
    ABORTED = "aborted"
    OPEN = "open"


class Transaction(NamedTuple):
    """One command of the plan: the numbers of its records, the end that it asked for, and what the client reported."""

    first: int
    numbers: range
    asked: End
    outcome: Outcome

    @property
    def ended(self) -> End | None:
        """The end that the client reported as certain, or None."""
        if self.outcome is Outcome.INFO:
            return None
        other: End = "abort" if self.asked == COMMIT else "commit"
        return self.asked if self.outcome is Outcome.OK else other


@view
def fates(evidence: Evidence) -> tuple[Fate | None, ...]:
    """Return the fate of each record of ``evidence.log``, in its order; None for control records."""
    found: list[Fate | None] = [None] * len(evidence.log)
    pending: dict[tuple[str, int, int], list[int]] = {}
    for at, row in enumerate(evidence.log):
        key = row.topic, row.partition, row.producer_id
        if row.control:
            ended = Fate.VISIBLE if row.key == COMMIT_MARKER else Fate.ABORTED
            for place in pending.pop(key, ()) if row.key in (COMMIT_MARKER, ABORT_MARKER) else ():
                found[place] = ended
        elif row.producer_id < 0:
            found[at] = Fate.VISIBLE
        else:
            found[at] = Fate.OPEN
            pending.setdefault(key, []).append(at)
    return tuple(found)


@view
def copies(evidence: Evidence) -> dict[Fate, dict[int, list[LogRecord]]]:
    """Return fate -> record number -> the places in the log where the record has this fate, in log order."""
    found: dict[Fate, dict[int, list[LogRecord]]] = {fate: {} for fate in Fate}
    for row, n, fate in zip(evidence.log, evidence.numbers, fates(evidence), strict=True):
        if n is not None and fate is not None:
            found[fate].setdefault(n, []).append(row)
    return found


@view
def transactions(evidence: Evidence) -> list[Transaction]:
    """Return the transactions that the client was asked for, in the order of their numbers.

    The client reports one outcome for all records of a transaction. If it contradicts itself, nothing is certain.
    """
    spec, operations = evidence.record.spec, evidence.operations
    size = spec.workload.records_per_command
    found = []
    for first in sorted({n - n % size for n in operations}):
        numbers = range(first, min(first + size, spec.workload.records))
        told = {operations[n].outcome if n in operations else Outcome.INFO for n in numbers}
        outcome = told.pop() if len(told) == 1 else Outcome.INFO
        found.append(Transaction(first, numbers, end_of(spec, first), outcome))
    return found
