"""What ends the membership of a member of KIP-848, as far as its client knows. Pure.

A fenced member learns it from the answer to a heartbeat, and an answer to a commit or about offsets may tell it as
well.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from harness.judging.availability import Span
from harness.model.contract import OpInvoke
from harness.model.evidence import Evidence, view
from harness.model.units import NS_PER_MS
from harness.wire.error_table import BY_NAME
from suites.analysis.consuming.asked import Asked, of_group
from suites.analysis.consuming.beats import Beat, all_beats, is_answered
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.timing import MAX_POLL, SESSION, setting_ms
from suites.analysis.excuses import grants

FENCES: Final = tuple(BY_NAME[name].code for name in ("FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID"))
#: Errors that say nothing about the member.
ELSEWHERE: Final = tuple(
    BY_NAME[name].code
    for name in ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
)
#: Calls after which a client may be a new member.
_ANEW: Final = ("subscribe", "unsubscribe", "assign", "close")


class Fence(NamedTuple):
    """The answer that fenced a member, and the next heartbeat of its client, which had certainly read it.

    ``is_settled`` if the member was neither joining nor changing its partitions.
    """

    told: Asked
    next: Beat
    is_settled: bool


@view
def fences(evidence: Evidence) -> list[Fence]:
    """Return the fences of members, in the order of each process."""
    return [
        Fence(beat.now, later, beat.is_steady and beat.before is not None and not beat.before.told.said)
        for beats in all_beats(evidence).values()
        for beat, later in pairwise(beats)
        if beat.now.code in FENCES and (beat.now.member.epoch or 0) > 0 and is_answered(evidence, later)
    ]


def may_join_anew(evidence: Evidence, beat: Beat) -> bool:
    """Return whether a client may have had a reason to join again with a heartbeat."""
    return any(_reasons(evidence, beat))


@grants("membership-may-have-ended")
def _reasons(evidence: Evidence, beat: Beat) -> Iterator[bool]:
    process, until_ns = beat.now.process, beat.now.request.arrived_ns
    heard = _last_accepted(evidence, beat)
    since_ns = 0 if heard is None else heard.request.arrived_ns
    span = Span(since_ns, until_ns)
    life = lives(evidence)[process]
    yield heard is None or until_ns - since_ns >= setting_ms(evidence, SESSION, min) * NS_PER_MS
    yield any(
        each.code is not None and each.code not in (0, *ELSEWHERE)
        for each in of_group(evidence)[process]
        if since_ns <= each.request.arrived_ns < until_ns or _is_answered_in(each, span)
    )
    yield any(each.overlap_ns(*span) for each in life.frozen)
    longest_ns = setting_ms(evidence, MAX_POLL, min) * NS_PER_MS
    yield any(turn.end_ns - turn.begin_ns >= longest_ns and turn.end_ns >= since_ns for turn in life.turns)
    yield any(
        isinstance(event, OpInvoke)
        and event.op in _ANEW
        and event.producer == process
        and since_ns <= event.mono_ns <= until_ns
        for event in evidence.history
    )


def _is_answered_in(each: Asked, span: Span) -> bool:
    return each.answer is not None and span.begin_ns <= each.answer.t_ns <= span.end_ns


def _last_accepted(evidence: Evidence, beat: Beat) -> Asked | None:
    """Return the last heartbeat of the same process before this one that was accepted."""
    found = None
    for each in all_beats(evidence)[beat.now.process]:
        if each.now is beat.now:
            return found
        if each.now.code == 0:
            found = each.now
    return found
