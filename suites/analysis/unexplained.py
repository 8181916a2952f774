"""The records that an at-least-once client wrote again without a failure of their own, for the second judgement.

The report recomputes this set from the frames with a simpler rule (:mod:`reports.spark.transforms.explained`)
and shows the records that only one of the two explains. A copy that only the failure of a neighbour explains
is in the set, since it was avoidable.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.anomaly_row import UNEXPLAINED, AnomalyRow
from harness.model.evidence import Evidence
from harness.model.verdicts import Guarantee
from harness.workloads.produce import accounting
from suites.analysis.retry_cause import SAID, Cause, Explainer

BESIDE = "only another attempt on its path had failed"


def rows(evidence: Evidence) -> Iterator[AnomalyRow] | None:
    """Yield a row per such record, with the reason in ``detail``. Return None under another guarantee."""
    if evidence.record.spec.guarantee is not Guarantee.AT_LEAST_ONCE:
        return None
    return _found(evidence)


def _found(evidence: Evidence) -> Iterator[AnomalyRow]:
    explainer = Explainer(evidence)
    for n, copies in accounting.duplicates(evidence).items():
        story = explainer.copies(n, copies)
        if story.cause is not Cause.OWN:
            yield AnomalyRow(
                UNEXPLAINED, n, detail=BESIDE if story.cause is Cause.NEIGHBOUR else SAID[story.why]
            )
