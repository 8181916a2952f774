"""# abort-undone

## What it does

Looks for records of transactions that the client reported as aborted, and that readers see.

## Why it is bad

The application takes the transaction for undone and does its work again. Its readers get the results of both.

## How it is judged per guarantee

- **transactional**: forbidden. A record counts if a marker in the log commits a copy of it. Only a commit
  makes a record visible, so a transaction that the application aborted, or began and never asked to commit, must
  stay hidden whatever the abort's own result was.

## What it needs

The history and the log.

## References

PRD-TXN-07 (KIP-98, ``TransactionManager#beginAbort``). Jepsen's ``G1a``: an aborted read.
"""

from __future__ import annotations

from harness.model.anomaly import Anomaly
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.transactions import accounting
from harness.workloads.transactions.commands import ABORT
from harness.workloads.transactions.outcomes import transactions
from suites.analysis.findings import of_copy
from suites.analysis.promises import TRANSACTIONAL

UNDONE = Anomaly(
    "abort-undone", "{count:record} of transactions that were reported as aborted visible in the log"
)


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the copies."""
    found = accounting.undone(evidence)
    return [UNDONE.found(len(found), (of_copy(each.row, each.n) for each in found))] if found else []


def _arises(evidence: Evidence) -> int:
    return sum(each.ended == ABORT for each in transactions(evidence))


CHECK = Check(
    name="abort-undone",
    summary="Records of aborted transactions that are visible.",
    requirements=(Requirement("PRD-TXN-07", Level.MUST, arises=_arises),),
    guarantees=TRANSACTIONAL,
    requires=frozenset({"history", "log"}),
    killed_mutant="commits_what_is_aborted",
    run=run,
    workloads=frozenset({"transactions"}),
)
