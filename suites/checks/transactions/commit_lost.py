"""# commit-lost

## What it does

Looks for records of transactions that the client reported as committed, and that no reader will ever see.

## Why it is bad

The application goes on: it forgets its input, or tells its user that the order was taken. What it was promised to be
stored is gone.

## How it is judged per guarantee

- **transactional**: forbidden. A record counts if the log has no copy of it, or only aborted ones. A copy whose
  transaction is still open is judged by open-transaction.

## What it needs

The history and the log.

## References

PRD-TXN-05 (KIP-98, ``TransactionManager``: a commit is sent once every batch is stored). Jepsen's ``lost write``.
"""

from __future__ import annotations

from harness.model.anomaly import Anomaly
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.transactions import accounting
from harness.workloads.transactions.commands import COMMIT
from harness.workloads.transactions.outcomes import Fate, copies, transactions
from suites.analysis.findings import of_send
from suites.analysis.promises import TRANSACTIONAL

LOST = Anomaly("commit-lost", "{count:record} of transactions that were reported as committed not in the log")
ABORTED = Anomaly(
    "commit-aborted", "{count:record} of transactions that were reported as committed aborted in the log"
)


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind: records that are not there, and records that are aborted."""
    known = copies(evidence)
    lost = [n for n in accounting.lost(evidence) if n not in known[Fate.OPEN]]
    aborted = [n for n in lost if n in known[Fate.ABORTED]]
    missing = [n for n in lost if n not in known[Fate.ABORTED]]
    sends = evidence.operations
    return [
        anomaly.found(len(numbers), (of_send(sends[n]) for n in numbers))
        for anomaly, numbers in ((LOST, missing), (ABORTED, aborted))
        if numbers
    ]


def _arises(evidence: Evidence) -> int:
    return sum(each.ended == COMMIT for each in transactions(evidence))


CHECK = Check(
    name="commit-lost",
    summary="Records of committed transactions that are missing or aborted.",
    requirements=(Requirement("PRD-TXN-05", Level.MUST, arises=_arises),),
    guarantees=TRANSACTIONAL,
    requires=frozenset({"history", "log"}),
    killed_mutant="reports_failed_commits_as_done",
    run=run,
    workloads=frozenset({"transactions"}),
)
