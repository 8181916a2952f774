"""When a trial's faults were in effect: a consequence counts only what one of them can have brought about.

What would be the same in a trial without its faults shows nothing. So a moment counts from the beginning of a fault
until a grace after its end, and a wait counts if any of it lies there.
"""

from __future__ import annotations

from harness.model.evidence import Evidence, view
from harness.model.units import NS_PER_MS

#: What a fault did is seen at the latest so long after it was over: a connection's end, an answer, the next request.
GRACE_NS = 500 * NS_PER_MS


@view
def windows(evidence: Evidence) -> list[tuple[int, int]]:
    """From when to when each fault was in effect, those left out that never were."""
    return [row.effective_ns for row in evidence.faults if row.effective_ns is not None]


def during(evidence: Evidence, t_ns: int) -> bool:
    """True if a fault was in effect at that moment, or shortly before."""
    return meets(evidence, t_ns, t_ns)


def meets(evidence: Evidence, begin_ns: int, end_ns: int) -> bool:
    """True if a fault was in effect at any moment from ``begin_ns`` to ``end_ns``, or shortly before."""
    return any(begin <= end_ns and begin_ns <= end + GRACE_NS for begin, end in windows(evidence))


def begun(evidence: Evidence, t_ns: int) -> bool:
    """True if a fault had begun by then: for what stays as a fault has made it."""
    return any(begin <= t_ns for begin, _ in windows(evidence))
