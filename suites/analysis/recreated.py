"""Topics that were deleted and created again. A place in the old topic is not the same place in the new one."""

from __future__ import annotations

from harness.model.evidence import Evidence, view


@view
def recreations(evidence: Evidence) -> list[int]:
    """Return when the trial's topic was created again, in order. Results before such a time concern the old topic.

    The topic is deleted while the fault begins, and created while it ends, and either may take long. The middle of the
    time in which the fault was certainly in effect lies between the two. In older runs, it is the middle of the fault.
    """
    return sorted(
        sum(row.certain_ns or row.effective_ns) // 2
        for row in evidence.faults
        if row.spec.kind == "topic_recreate" and row.effective_ns is not None
    )
