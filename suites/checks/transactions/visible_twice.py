"""# visible-twice

## What it does

Looks for records that readers see more than once, and for records that they see in another order than that of
sending.

## Why it is bad

An amount is booked twice, or a newer state is overwritten by an older one. Transactions contain idempotence, which
excludes both.

## How it is judged per guarantee

- **transactional**: forbidden. One additional visible copy is enough, whatever its cause. Copies that are
  aborted do not count. The order is that of a producer in a partition, and of first copies.

## What it needs

The history and the log.

## References

PRD-TXN-16 (KIP-98, KIP-360: sequences of each epoch begin at 0, and brokers store each of them once).
"""

from __future__ import annotations

from harness.model.anomaly import Anomaly, Sample
from harness.model.evidence import Evidence
from harness.model.rows import Finding
from harness.model.verdicts import Level
from harness.plugins.check import Check, Requirement
from harness.workloads.transactions import accounting
from harness.workloads.transactions.outcomes import Fate, copies
from suites.analysis.findings import of_copy
from suites.analysis.promises import TRANSACTIONAL

TWICE = Anomaly("visible-twice", "{count:copy} visible beyond the first of a record")
OUT_OF_ORDER = Anomaly("visible-out-of-order", "{count:record} visible behind records that were sent later")


def run(evidence: Evidence) -> list[Finding]:
    """Return at most one finding of each kind."""
    kinds = ((TWICE, accounting.duplicated(evidence)), (OUT_OF_ORDER, accounting.reordered(evidence)))
    return [anomaly.found(len(cases), map(_sample, cases)) for anomaly, cases in kinds if cases]


def _sample(each: accounting.Copy) -> Sample:
    return {**of_copy(each.row, each.n), "overtaken_by": each.overtaken_by}


def _arises(evidence: Evidence) -> int:
    return len(copies(evidence)[Fate.VISIBLE])


CHECK = Check(
    name="visible-twice",
    summary="Visible records that are there twice, or out of order.",
    requirements=(Requirement("PRD-TXN-16", Level.MUST, arises=_arises),),
    guarantees=TRANSACTIONAL,
    requires=frozenset({"history", "log"}),
    killed_mutant="numbers_retries_anew_in_transactions",
    run=run,
    workloads=frozenset({"transactions"}),
)
