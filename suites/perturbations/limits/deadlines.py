"""The limit of the excuse that a stall gives for late events in a client's trace."""

from __future__ import annotations

from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.perturbations.edits import with_record
from suites.perturbations.traces.batches import NEVER_EXPIRED

STALL_MS, LONG_BEFORE_MS = 3_000, 20_000


def _after_stall(evidence: Evidence, at: int) -> Evidence:
    """The batch of this event never expires, and the harness stalled long before the trial's load."""
    begin_ns = (evidence.record.phases.load_ns or 0) - LONG_BEFORE_MS * NS_PER_MS
    stalled = with_record(evidence, harness_stalls=((begin_ns, begin_ns + STALL_MS * NS_PER_MS),))
    return NEVER_EXPIRED.apply(stalled, at)


PERTURBATIONS = (
    Perturbation(
        "trace-never-expired-long-after-a-stall",
        NEVER_EXPIRED.channels,
        "leaves a batch without a result long after its delivery timeout, with a stall even longer before",
        NEVER_EXPIRED.caught_by,
        NEVER_EXPIRED.places,
        _after_stall,
        Verdict.DIFFERS,
    ),
)
