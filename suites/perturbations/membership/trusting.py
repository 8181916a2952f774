"""Members that go on trusting a coordinator that answers nothing."""

from __future__ import annotations

from collections.abc import Sequence

from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from suites.analysis.consuming.timing import REQUEST
from suites.analysis.way import SLACK_NS
from suites.checks.consume_wire.session_ignored import LATE_NS, Silence, silences
from suites.perturbations.consuming.edits import waited, with_fault
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.edits import with_config
from suites.perturbations.perturbation import channels

BOTH = channels("history", "frames")
MORE_NS = 1_500 * NS_PER_MS


def _places(evidence: Evidence) -> Sequence[int]:
    """Return the numbers of the silences that their members ended in time, before the next answer came."""
    next_ns = {frame.t_ns for frame in evidence.frames}
    return [
        at
        for at, each in enumerate(silences(evidence))
        if each.length_ns <= each.session_ns and each.span.end_ns in next_ns
    ]


def _silence(evidence: Evidence, place: int) -> Silence:
    return silences(evidence)[place]


def _late(evidence: Evidence, place: int) -> Evidence:
    """Nothing happens until three seconds and a half after the member's session."""
    each = _silence(evidence, place)
    return waited(evidence, each.span.end_ns, each.session_ns - each.length_ns + LATE_NS + MORE_NS)


def _late_before_a_cut(evidence: Evidence, place: int) -> Evidence:
    """Connections are cut a second after the member has acted at last."""
    begin_ns = _silence(evidence, place).span.end_ns + 2 * SLACK_NS
    return _late(with_fault(evidence, "disconnect", begin_ns, NS_PER_MS), place)


def _later_than_a_request(evidence: Evidence, place: int) -> Evidence:
    """A request may take a second only."""
    return with_config(_late(evidence, place), **{REQUEST: 1_000})


PERTURBATIONS = (
    of_consumers(
        "session-outstayed",
        BOTH,
        "looks for its coordinator three seconds and a half after its session has ended without an answer",
        "session-ignored",
        _places,
        _late,
    ),
    of_consumers(
        "session-outstayed-before-a-cut",
        BOTH | channels("faults"),
        "looks for its coordinator three seconds and a half after its session, a second before connections are cut",
        "session-ignored",
        _places,
        _late_before_a_cut,
    ),
    of_consumers(
        "coordinator-trusted-beyond-a-request",
        BOTH | channels("record"),
        "looks for its coordinator later than after its session and a request timeout",
        "coordinator-trusted-for-ever",
        _places,
        _later_than_a_request,
        Verdict.FAIL,
    ),
)
