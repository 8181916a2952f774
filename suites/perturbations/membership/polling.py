"""Members whose applications do not poll, and that stay in their group, or do not come back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from suites.analysis.consuming.asked import Asked, of_group
from suites.analysis.consuming.generations import LEAVE
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.timing import SLACK_NS, notice_ns
from suites.checks.consume_wire.stays_without_polls import Late, late
from suites.perturbations.consuming.edits import nap, with_added
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.edits import inserted_id, with_frames_added
from suites.perturbations.membership.exchanges import without
from suites.perturbations.perturbation import channels

FRAMES = channels("frames")


def _places(fits: Callable[[Evidence, Late], bool]) -> Callable[[Evidence], Sequence[int]]:
    return lambda evidence: [at for at, each in enumerate(late(evidence)) if fits(evidence, each)]


def _late(evidence: Evidence, place: int) -> Late:
    return list(late(evidence))[place]


def _has_left(_: Evidence, each: Late) -> bool:
    return not each.is_static and each.left() is not None


def _stays(evidence: Evidence, place: int) -> Evidence:
    """The member sends no LeaveGroup."""
    left = _late(evidence, place).left()
    return evidence if left is None else without(evidence, [left])


def _others(evidence: Evidence, each: Late) -> list[str]:
    return [
        process
        for process, life in lives(evidence).items()
        if process != each.process and life.begin_ns < each.turn.begin_ns < each.due_ns < life.end_ns
    ]


def _stays_beside_a_nap(evidence: Evidence, place: int) -> Evidence:
    """The member sends no LeaveGroup. Another one is stopped shortly before it would be due."""
    each = _late(evidence, place)
    other = _others(evidence, each)[0]
    begin_ns = each.due_ns - 2 * NS_PER_MS
    return with_added(_stays(evidence, place), *nap(evidence, other, begin_ns, begin_ns + NS_PER_MS))


def _is_back(evidence: Evidence, each: Late) -> bool:
    last_ns = each.turn.end_ns + notice_ns(evidence)
    life = lives(evidence)[each.process]
    until_ns = life.end_ns if life.closing_ns is None else life.closing_ns
    return _has_left(evidence, each) and last_ns < until_ns and not _works_long(evidence, each)


def _works_long(evidence: Evidence, each: Late) -> bool:
    return any(
        turn.begin_ns >= each.turn.end_ns and turn.end_ns - turn.begin_ns > SLACK_NS
        for turn in lives(evidence)[each.process].turns
    )


def _away(evidence: Evidence, place: int) -> Evidence:
    """The member asks its coordinator for nothing after it has left."""
    each = _late(evidence, place)
    requests = of_group(evidence)[each.process]
    return without(
        evidence, [one for one in requests if one.api != LEAVE and one.request.arrived_ns > each.turn.end_ns]
    )


def _beats_on(evidence: Evidence, place: int) -> Evidence:
    """A static member sends one more heartbeat at the end of its turn."""
    each = _late(evidence, place)
    beat = next(one for one in _answered_beats(evidence, each))
    assert beat.answer is not None
    at_ns = each.turn.end_ns - 2 * NS_PER_MS
    own = {"received_ns": None, "correlation_id": inserted_id(evidence)}
    return with_frames_added(
        evidence,
        (changed(beat.request, t_ns=at_ns, **own), changed(beat.answer, t_ns=at_ns + NS_PER_MS, **own)),
    )


def _answered_beats(evidence: Evidence, each: Late) -> Iterator[Asked]:
    return (one for one in of_group(evidence, "Heartbeat")[each.process] if one.answer is not None)


def _may_beat(evidence: Evidence, each: Late) -> bool:
    is_long = each.turn.end_ns > each.due_ns + SLACK_NS + 4 * NS_PER_MS
    return each.is_static and is_long and any(_answered_beats(evidence, each))


PERTURBATIONS = (
    of_consumers(
        "stayed-without-polls",
        FRAMES,
        "does not leave its group although its application does not poll in time",
        "stays-without-polls",
        _places(_has_left),
        _stays,
    ),
    of_consumers(
        "stayed-while-another-is-frozen",
        channels("frames", "history"),
        "does not leave its group although its application does not poll in time, while another member is frozen",
        "stays-without-polls",
        _places(lambda evidence, each: _has_left(evidence, each) and bool(_others(evidence, each))),
        _stays_beside_a_nap,
    ),
    of_consumers(
        "stayed-away",
        FRAMES,
        "does not join again after it has left because its application did not poll",
        "stays-away",
        _places(_is_back),
        _away,
    ),
    of_consumers(
        "static-member-beat-on",
        FRAMES,
        "sends a heartbeat as a static member whose application does not poll in time",
        "heartbeats-without-polls",
        _places(_may_beat),
        _beats_on,
    ),
)
