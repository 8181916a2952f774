"""What the checks of consumers find before they excuse anything, for the second judgement.

The report computes the same rows from the columns of the evidence (:mod:`reports.spark.transforms.consuming`), without
this code. A row that only one of the two has is a disagreement. ``detail`` is the process, or both owners with
their generation.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.anomaly_row import AnomalyRow
from harness.model.evidence import Evidence
from harness.model.verdicts import Guarantee
from harness.plugins import registry
from suites.checks.consume import commit_regress, committed_early, delivery_order, skipped, two_owners


def rows(evidence: Evidence) -> Iterator[AnomalyRow] | None:
    """Yield a row per anomaly. Return None if the trial's clients do not consume."""
    if registry.workload(evidence.record.spec.workload.kind).members is None:
        return None
    return _found(evidence)


def _found(evidence: Evidence) -> Iterator[AnomalyRow]:
    for partition, offset in skipped.passed_over(evidence):
        yield AnomalyRow("skipped", None, partition, offset)
    for got in delivery_order.backwards(evidence):
        yield AnomalyRow("backwards", None, got.partition, got.offset, got.member)
    for _, got, offset in delivery_order.left_out(evidence):
        yield AnomalyRow("gap", None, got.partition, offset, got.member)
    commits = committed_early.made(evidence) if _after_processing(evidence) else ()
    for member, at, justified in commits:
        if at.offset > justified:
            yield AnomalyRow("committed-early", None, at.partition, at.offset, member)
    for before, after in commit_regress.in_turn(evidence):
        if after.offset < before.offset:
            yield AnomalyRow("commit-regress", None, after.partition, after.offset, after.member)
    for older, newer in two_owners.pairs(evidence):
        if older.generation == newer.generation >= 0:
            names = f"{older.process} {newer.process} {older.generation}"
            yield AnomalyRow("two-owners", None, older.partition, None, names)


def _after_processing(evidence: Evidence) -> bool:
    """Return True if the guarantee is kept by committing what was processed."""
    return evidence.record.spec.guarantee is Guarantee.AT_LEAST_ONCE
