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
from suites.checks.consume_wire.fetches_at_a_time import FETCH, followers, is_given_up
from suites.perturbations.consuming.kinds import CONSUME
from suites.perturbations.edits import with_frames
from suites.perturbations.membership.exchanges import with_edits
from suites.perturbations.perturbation import channels

#: The number of no connection.
ANOTHER = -1


def _before(evidence: Evidence, later: Asked) -> Asked | None:
    """Return the Fetch before this one, if its answer alone passed its connection before the next request."""
    conn, at_ns = later.request.conn, later.request.t_ns
    earlier = [
        each
        for each in of_group(evidence, FETCH)[later.process]
        if each.request.conn == conn and each.request.t_ns < at_ns
    ]
    if not earlier or later.answer is None or later.answer.t_ns - at_ns <= 2:
        return None
    before = earlier[-1]
    passed = [
        exchange.answer
        for exchange in connections(evidence)[conn].exchanges
        if exchange.answer is not None and before.request.t_ns <= exchange.answer.t_ns <= at_ns
    ]
    is_alone = len(passed) == 1 and passed[0] is before.answer
    return before if is_alone and not is_given_up(evidence, before, later) else None


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
    """Return the places whose connection certainly stays open while the next request is sent on another one."""
    found = []
    for place in _places(evidence):
        later = followers(evidence)[place].fetch
        before = _before(evidence, later)
        elsewhere = changed(later, request=changed(later.request, conn=ANOTHER))
        if before is not None and not is_given_up(evidence, before, elsewhere):
            found.append(place)
    return found


def _on_another(evidence: Evidence, place: int) -> Evidence:
    """The same, and the next request goes through another connection, while the first one stays open."""
    later = followers(evidence)[place].fetch
    told, new = _unanswered(evidence, place), 1 + max(frame.conn for frame in evidence.frames)
    moved = (later.request, later.answer)
    rows = [changed(row, conn=new) if any(row is each for each in moved) else row for row in told.frames]
    request, answer = moved
    assert answer is not None
    begins = Frame(request.t_ns - 1, request.lane, request.broker, new, FrameKind.OPEN)
    ends = Frame(answer.t_ns + 1, request.lane, request.broker, new, FrameKind.CLOSE, closed_by="client")
    return with_frames(told, [*rows, begins, ends])


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
