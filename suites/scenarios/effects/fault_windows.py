"""When a trial's faults were in effect. A consequence counts only what a fault can have caused.

Something that would be the same in a trial without faults proves nothing. So a time counts from the beginning
of a fault until a grace period after its end, and an interval counts if it overlaps that.
"""

from __future__ import annotations

from harness.model.evidence import Evidence, view
from harness.model.units import NS_PER_MS

#: How long after a fault its effect may be seen: the end of a connection, an answer, the next request.
GRACE_NS = 500 * NS_PER_MS


@view
def windows(evidence: Evidence) -> list[tuple[int, int]]:
    """Return the interval of each fault that was in effect."""
    return [row.effective_ns for row in evidence.faults if row.effective_ns is not None]


def during(evidence: Evidence, t_ns: int) -> bool:
    """True if a fault was in effect at that time, or shortly before."""
    return meets(evidence, t_ns, t_ns)


def meets(evidence: Evidence, begin_ns: int, end_ns: int) -> bool:
    """True if a fault was in effect at any time from ``begin_ns`` to ``end_ns``, or shortly before."""
    return any(begin <= end_ns and begin_ns <= end + GRACE_NS for begin, end in windows(evidence))


def begun(evidence: Evidence, t_ns: int) -> bool:
    """True if a fault had begun by then. Use it for faults with a permanent effect."""
    return any(begin <= t_ns for begin, _ in windows(evidence))
