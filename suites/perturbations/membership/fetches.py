"""Fetch requests that are sent while others are in flight to their broker."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.exchanges import connections
from harness.model.rows import Frame, FrameKind
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.consuming.asked import Asked, of_group
from suites.analysis.way import SLACK_NS
from suites.checks.consume_wire.fetches_at_a_time import FETCH, followers, was_assigned
from suites.perturbations.consuming.deliveries import CONSUME
from suites.perturbations.edits import with_frames
from suites.perturbations.membership.exchanges import with_edits
from suites.perturbations.perturbation import channels


def _before(evidence: Evidence, later: Asked) -> Asked | None:
    """Return the Fetch on the same connection before this one, if both have answers and time is between."""
    conn, at_ns = later.request.conn, later.request.t_ns
    earlier = [
        each
        for each in of_group(evidence, FETCH)[later.process]
        if each.request.conn == conn and each.request.t_ns < at_ns
    ]
    if not earlier or earlier[-1].answer is None or later.answer is None:
        return None
    before = earlier[-1]
    if was_assigned(evidence, before, later) or later.answer.t_ns - at_ns <= 2:
        return None
    return before if before.answer is not None and before.answer.t_ns < at_ns else None


def _places(evidence: Evidence) -> Sequence[int]:
    return [at for at, each in enumerate(followers(evidence)) if _before(evidence, each.fetch) is not None]


def _unanswered(evidence: Evidence, place: int) -> Evidence:
    """The answer before comes only after the next request."""
    later = followers(evidence)[place].fetch
    before = _before(evidence, later)
    assert before is not None and before.answer is not None
    answer = changed(before.answer, t_ns=later.request.t_ns + 1, received_ns=None)
    return with_edits(evidence, {id(before.answer): answer})


def _beside(evidence: Evidence) -> Sequence[int]:
    """Return the places whose connection stays open for long enough."""
    known = connections(evidence)
    return [
        place
        for place in _places(evidence)
        if known[(fetch := followers(evidence)[place].fetch).request.conn].closed_ns
        > fetch.request.t_ns + 2 * SLACK_NS
    ]


def _on_another(evidence: Evidence, place: int) -> Evidence:
    """The same, and the next request goes through another connection, while the first one stays open."""
    later = followers(evidence)[place].fetch
    told, new = _unanswered(evidence, place), 1 + max(frame.conn for frame in evidence.frames)
    moved = (later.request, later.answer)
    rows = [changed(row, conn=new) if any(row is each for each in moved) else row for row in told.frames]
    begins = Frame(later.request.t_ns - 1, later.request.lane, later.request.broker, new, FrameKind.OPEN)
    return with_frames(told, [*rows, begins])


PERTURBATIONS = (
    Perturbation(
        "fetch-before-the-answer",
        channels("frames"),
        "sends a Fetch to a broker before it has the answer to the one before",
        ("several-fetches",),
        _places,
        _unanswered,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
    Perturbation(
        "fetch-beside-an-open-connection",
        channels("frames"),
        "sends a Fetch on another connection while one is in flight on a connection that stays open",
        ("several-fetches",),
        _beside,
        _on_another,
        Verdict.DIFFERS,
        workloads=CONSUME,
    ),
)
