"""# torn-transaction

## What it does

Looks for transactions of which readers see some records and never the others.

## Why it is bad

The sides of one booking are stored apart: money leaves an account and arrives nowhere. All or nothing is what a
transaction is for.

## How it is judged per guarantee

- **transactional**: forbidden. This holds whatever the client reported, even if it could not know the
  outcome. A transaction with a record whose fate is still open is left to open-transaction.

## What it needs

The history and the log.

## References

PRD-TXN-07 (KIP-98: atomic writes to several partitions). Torn transactions were reported of Kafka-compatible brokers.
"""

from __future__ import annotations

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence, view
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.transactions import accounting
from harness.workloads.transactions.outcomes import Fate, Transaction, copies, transactions
from suites.analysis.promises import TRANSACTIONAL

TORN = Anomaly("torn-transaction", "{count:transaction} with visible records and others that are not")


@view
def torn(evidence: Evidence) -> list[Transaction]:
    """Return the transactions of which the fate of all records is known, and not the same."""
    left_open = copies(evidence)[Fate.OPEN]
    return [each for each in accounting.torn(evidence) if not any(n in left_open for n in each.numbers)]


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding, which counts the transactions."""
    found = torn(evidence)
    return [TORN.found(len(found), (_sample(evidence, each) for each in found))] if found else []


def _sample(evidence: Evidence, each: Transaction) -> Sample:
    visible = copies(evidence)[Fate.VISIBLE]
    hidden = [n for n in each.numbers if n not in visible]
    return {
        "first": each.first,
        "records": len(each.numbers),
        "hidden": len(hidden),
        "n": hidden[0],
        "asked": each.asked,
        "outcome": each.outcome,
    }


def _arises(evidence: Evidence) -> int:
    visible = copies(evidence)[Fate.VISIBLE]
    return sum(any(n in visible for n in each.numbers) for each in transactions(evidence))


CHECK = Check(
    name="torn-transaction",
    summary="Transactions of which only some records are visible.",
    requirements=(Requirement("PRD-TXN-07", Level.MUST, arises=_arises),),
    guarantees=TRANSACTIONAL,
    requires=frozenset({"history", "log"}),
    killed_mutant="commits_without_failed_records",
    run=run,
    workloads=frozenset({"transactions"}),
)
