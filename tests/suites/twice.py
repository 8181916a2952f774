"""A record that is written twice, and the check's explanation: shared by the tests of duplicates."""

from __future__ import annotations

from suites.checks.history.duplicate import CHECK


def twice(told, *, again_ms, conn=2, answered=True):
    """Record 0 is written at 10 ms on connection 1, and again at ``again_ms``."""
    told.call(0)
    told.request([0], partition=0, at_ms=10)
    base = told.append([0], partition=0)
    if answered:
        told.answer(0, base, at_ms=11)
    offset = told.deliver([0], partition=0, at_ms=again_ms, conn=conn)
    told.result(0, at_ms=again_ms + 2, offset=offset)
    return told


NOTHING_WRONG = "it was sent again although nothing was wrong with the earlier request"


AVOIDABLE = "avoidable-duplicate"


def reasons(told):
    """Return the check's reasons, unexplained or avoidable, for each duplicate."""
    return [finding.samples[0].get("why", finding.anomaly) for finding in CHECK.run(told.evidence())]
