"""Members that give their application records although they know that they are out of their group."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.verdicts import Verdict
from harness.wire.apis import Api, api_name
from harness.wire.error_table import BY_NAME
from suites.analysis.consuming.asked import Asked, of_group
from suites.analysis.consuming.beats import HEARTBEAT
from suites.checks.consume_wire.zombie import CLASSIC, NEW_PROTOCOL, End, given, until_ns
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.edits import inserted_id, with_frames_added
from suites.perturbations.membership.exchanges import refused, with_edits
from suites.perturbations.perturbation import channels

UNKNOWN = BY_NAME["UNKNOWN_MEMBER_ID"].code
FRAMES = channels("frames")
#: The process, the number of one of its heartbeats, and when it got a record after the answer.
Place = tuple[str, int, int]


def _beats(evidence: Evidence) -> dict[str, list[Asked]]:
    return of_group(evidence, "Heartbeat", HEARTBEAT)


def _places(evidence: Evidence) -> Sequence[Place]:
    """Return the first heartbeat of each process in a membership in which it reads on for more than a second."""
    found = []
    for process, beats in _beats(evidence).items():
        for at, each in enumerate(beats):
            if each.code == 0 and each.received_ns is not None and (each.member.epoch or 0) > 0:
                protocol = NEW_PROTOCOL if each.api == HEARTBEAT else CLASSIC
                end = End(protocol, each, each.received_ns, until_ns(evidence, each))
                if (got := next(given(evidence, end), None)) is not None:
                    found.append((process, at, got.polled_ns))
    return found


def _reads_on(evidence: Evidence, place: Place) -> Evidence:
    """The answer is that the group does not know the member."""
    process, at, _ = place
    return with_edits(evidence, refused(_beats(evidence)[process][at], UNKNOWN))


def _reads_on_before_a_lookup(evidence: Evidence, place: Place) -> Evidence:
    """The member looks for its coordinator only after it has got a record."""
    process, at, polled_ns = place
    beat, find = _beats(evidence)[process][at], Api.FIND_COORDINATOR
    assert beat.answer is not None
    lookup = {"api": api_name(find), "api_key": int(find), "correlation_id": inserted_id(evidence)}
    bare = {"received_ns": None, "members": (), "offsets": ()}
    request = changed(beat.request, t_ns=polled_ns + 1, **lookup, **bare)
    answer = changed(beat.answer, t_ns=polled_ns + 2, **lookup, **bare)
    return with_frames_added(_reads_on(evidence, place), (request, answer))


PERTURBATIONS = (
    of_consumers(
        "read-on-without-its-group",
        FRAMES,
        "gives records for more than a second after it knew that it was out of its group",
        "zombie",
        _places,
        _reads_on,
        Verdict.DIFFERS,
    ),
    of_consumers(
        "read-on-without-its-group-before-a-lookup",
        FRAMES,
        "gives such a record, and looks for its coordinator only later",
        "zombie",
        _places,
        _reads_on_before_a_lookup,
        Verdict.DIFFERS,
    ),
)
