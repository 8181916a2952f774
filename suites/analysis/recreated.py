"""Topics that were deleted and created again: what is said of a place before is said of another place after."""

from __future__ import annotations

from harness.model.evidence import Evidence, view


@view
def recreations(evidence: Evidence) -> list[int]:
    """When the trial's topic was created again, in order; what was told before such a moment was told of the old one.

    It is deleted when the fault begins and there again when it ends, so its middle lies between the two.
    """
    return sorted(
        sum(row.effective_ns) // 2
        for row in evidence.faults
        if row.spec.kind == "topic_recreate" and row.effective_ns is not None
    )
