"""The outcome of every transaction: the client's reports compared with the log's markers. Pure views.

- **commits_lost**: records of transactions that were reported as committed, without a visible copy;
- **undone**: records of transactions that were reported as aborted, with a visible copy;
- **torn**: transactions of which some records are visible and others are not;
- **visible_twice**: visible copies beyond each record's first;
- **visible_late**: visible records behind one of their partition that was sent later;
- **open**: records whose transaction has not ended in the log;
- **visible_unsent**: visible records that were not sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from harness.model.evidence import Evidence, view
from harness.model.rows import LogRecord
from harness.model.verdicts import Outcome
from harness.workloads.transactions.commands import ABORT, COMMIT
from harness.workloads.transactions.outcomes import Fate, Transaction, copies, fates, transactions

#: The meaning of each count of a verdict, in words.
MEANING: Mapping[str, str] = MappingProxyType(
    {
        "sent": "records handed to the client",
        "ended": "records of transactions that were reported as ended as asked",
        "failed": "records of transactions that were reported as ended the other way",
        "unknown": "records of transactions of which neither was reported",
        "visible": "records of any writer that read_committed shows",
        "aborted": "records of any writer that read_committed hides for good",
        "commits_lost": "reported as committed, and no visible copy in the log",
        "undone": "reported as aborted, and a visible copy in the log",
        "torn": "transactions of which some records are visible and others are not",
        "visible_twice": "visible copies beyond a record's first",
        "visible_late": "visible records behind a later-sent one of their partition",
        "open": "records in the log whose transaction has not ended",
        "visible_unsent": "visible records that were not sent",
    }
)


class Copy(NamedTuple):
    """A place of a record in the log. ``overtaken_by`` is a record that was sent later and comes before it."""

    n: int | None
    row: LogRecord
    overtaken_by: int | None = None


@view
def lost(evidence: Evidence) -> list[int]:
    """Return the records of transactions that were reported as committed, without a visible copy."""
    visible = copies(evidence)[Fate.VISIBLE]
    return [n for each in _ended(evidence, COMMIT) for n in each.numbers if n not in visible]


@view
def undone(evidence: Evidence) -> list[Copy]:
    """Return the visible copies of records of transactions that were reported as aborted."""
    visible = copies(evidence)[Fate.VISIBLE]
    return [
        Copy(n, row) for each in _ended(evidence, ABORT) for n in each.numbers for row in visible.get(n, ())
    ]


def _ended(evidence: Evidence, end: str) -> list[Transaction]:
    return [each for each in transactions(evidence) if each.ended == end]


@view
def torn(evidence: Evidence) -> list[Transaction]:
    """Return the transactions of which some records are visible and others are not."""
    visible = copies(evidence)[Fate.VISIBLE]
    return [
        each
        for each in transactions(evidence)
        if 0 < sum(n in visible for n in each.numbers) < len(each.numbers)
    ]


@view
def duplicated(evidence: Evidence) -> list[Copy]:
    """Return the visible copies of records beyond each record's first."""
    return [Copy(n, row) for n, rows in copies(evidence)[Fate.VISIBLE].items() for row in rows[1:]]


@view
def reordered(evidence: Evidence) -> list[Copy]:
    """Return the first visible copies behind a record of their partition and producer that was sent later."""
    first = sorted(
        ((rows[0], n) for n, rows in copies(evidence)[Fate.VISIBLE].items()),
        key=lambda each: (each[0].topic, each[0].partition, each[0].offset),
    )
    found = []
    highest: dict[tuple[str, int, str], int] = {}
    workload = evidence.record.spec.workload
    for row, n in first:
        key = row.topic, row.partition, workload.producer_of(n)
        before = highest.get(key, -1)
        if n < before:
            found.append(Copy(n, row, before))
        highest[key] = max(n, before)
    return found


@view
def left_open(evidence: Evidence) -> list[LogRecord]:
    """Return the records of the log whose transaction has not ended."""
    return [row for row, fate in zip(evidence.log, fates(evidence), strict=True) if fate is Fate.OPEN]


@view
def unexpected(evidence: Evidence) -> list[LogRecord]:
    """Return the visible records that the client was not asked to send."""
    sent = evidence.operations
    return [
        row
        for row, n, fate in zip(evidence.log, evidence.numbers, fates(evidence), strict=True)
        if fate is Fate.VISIBLE and n not in sent
    ]


def count(evidence: Evidence) -> dict[str, int]:
    """Return the counts of a verdict, in the order of ``MEANING``."""
    told = Counter(each.outcome for each in evidence.operations.values())
    known = Counter(fates(evidence))
    return {
        "sent": len(evidence.operations),
        "ended": told[Outcome.OK],
        "failed": told[Outcome.FAIL],
        "unknown": told[Outcome.INFO],
        "visible": known[Fate.VISIBLE],
        "aborted": known[Fate.ABORTED],
        "commits_lost": len(lost(evidence)),
        "undone": len(undone(evidence)),
        "torn": len(torn(evidence)),
        "visible_twice": len(duplicated(evidence)),
        "visible_late": len(reordered(evidence)),
        "open": len(left_open(evidence)),
        "visible_unsent": len(unexpected(evidence)),
    }
