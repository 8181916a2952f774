"""Why the owner of a partition may not know that the group has given it to another member.

Fetches are not fenced: a member that cannot reach its coordinator goes on reading. The coordinator removes a
member whose heartbeats do not arrive (session.timeout.ms) or that does not rejoin in time (max.poll.interval.ms). Each
excuse is a period in which the member could not know, and ends soon after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from harness.judging.availability import Span
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.units import NS_PER_MS
from harness.plugins.registry import fault
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.timing import MAX_POLL, SESSION, notice_ns, removal_ns, setting_ms
from suites.analysis.excuses import grants


def excused(evidence: Evidence, process: str, taken_ns: int, at_ns: int) -> bool:
    """Return True if ``process`` may not know at ``at_ns`` that its partition was given away at ``taken_ns``."""
    begin_ns = taken_ns - removal_ns(evidence)
    reasons = (*frozen_for_long(evidence, process), *late_polls(evidence, process), *cuts(evidence))
    return any(
        span.begin_ns < at_ns and begin_ns <= span.end_ns and at_ns <= span.end_ns + notice_ns(evidence)
        for span in reasons
    )


@grants("owner-was-frozen")
def frozen_for_long(evidence: Evidence, process: str) -> Iterator[Span]:
    """Yield when the harness had stopped the process."""
    life = lives(evidence).get(process)
    yield from life.frozen if life else ()


@grants("owner-polled-late")
def late_polls(evidence: Evidence, process: str) -> Iterator[Span]:
    """Yield the turns that took so long that the group may go on without the member."""
    limit_ms = min(setting_ms(evidence, MAX_POLL, min), setting_ms(evidence, SESSION, min))
    life = lives(evidence).get(process)
    for turn in life.turns if life else ():
        if turn.end_ns - turn.begin_ns >= limit_ms * NS_PER_MS:
            yield turn


def during_cut(evidence: Evidence, span: Span, *, lasts: bool = True) -> bool:
    """Return True if a fault acted on the network or the brokers in a period.

    With ``lasts``, one also counts that ended so shortly before that a member may not have noticed.
    """
    return cut_by(evidence, span, lambda _: True, lasts=lasts)


def cut_by(evidence: Evidence, span: Span, counts: Callable[[FaultRow], bool], *, lasts: bool = True) -> bool:
    """Return the same of the faults that ``counts`` returns True for."""
    begin_ns = span.begin_ns - (notice_ns(evidence) if lasts else 0)
    return any(cut.begin_ns <= span.end_ns and begin_ns <= cut.end_ns for cut in cuts(evidence, counts))


@grants("coordinator-out-of-reach")
def cuts(evidence: Evidence, counts: Callable[[FaultRow], bool] = lambda _: True) -> Iterator[Span]:
    """Yield when a fault acted on the network or the brokers, and not on a member's process or application."""
    for row in evidence.faults:
        if row.effective_ns is not None and not _is_on_members(row) and counts(row):
            yield Span(*row.effective_ns)


def _is_on_members(row: FaultRow) -> bool:
    return getattr(fault(row.spec.kind), "of_members", False)
