"""Members that do not leave, that leave although they should not, whose sessions end, and that stay with a broker."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace as changed

from harness.model.consumer_contract import RecordsConsumed
from harness.model.consumer_rows import MemberPart
from harness.model.evidence import Evidence
from harness.model.rows import Frame
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.wire.apis import Api, api_name
from harness.wire.error_table import BY_NAME
from suites.analysis.consuming.asked import Asked, of_group
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.timing import MAX_POLL, SESSION, setting_ms
from suites.checks.consume_wire.session_lapsed import Silence, silences
from suites.checks.consume_wire.stays_after_close import judged
from suites.perturbations.consuming.edits import is_quiet, waited, wall_ns, with_added
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.edits import inserted_id, with_frames_added
from suites.perturbations.membership.exchanges import refused, with_edits, without
from suites.perturbations.perturbation import channels

FRAMES, BOTH = channels("frames"), channels("history", "frames")
LEAVE, HEARTBEAT = api_name(Api.LEAVE_GROUP), api_name(Api.HEARTBEAT)
ELSEWHERE = BY_NAME["NOT_COORDINATOR"].code
MORE_NS = 1_000 * NS_PER_MS


def _leavers(evidence: Evidence) -> Sequence[str]:
    return [
        last.process for last, requests in judged(evidence) if any(each.api == LEAVE for each in requests)
    ]


def _stays(evidence: Evidence, process: str) -> Evidence:
    return without(evidence, of_group(evidence, LEAVE)[process])


def _leavers_after_an_error(evidence: Evidence) -> Sequence[str]:
    """Return members that leave, and had an error before they last joined."""
    return [
        process
        for process in _leavers(evidence)
        if any(each.code and each.api == HEARTBEAT for each in of_group(evidence)[process])
    ]


def _leavers_in_time(evidence: Evidence) -> Sequence[tuple[str, int]]:
    """Return members that leave, with how much later they could have closed within their session."""
    found = []
    for process in _leavers(evidence):
        life = lives(evidence)[process]
        heard_ns = [
            each.answer.t_ns
            for each in of_group(evidence)[process]
            if each.answer is not None and life.closing_ns is not None and each.answer.t_ns < life.closing_ns
        ]
        spare_ns = max(heard_ns) + setting_ms(evidence, SESSION, min) * NS_PER_MS - life.end_ns
        if spare_ns > 1 and life.closing_ns is not None and is_quiet(evidence, life.closing_ns):
            found.append((process, spare_ns))
    return found


def _stays_within_session(evidence: Evidence, place: tuple[str, int]) -> Evidence:
    """The member closes just before its session would end, and does not leave."""
    process, spare_ns = place
    closing_ns = lives(evidence)[process].closing_ns
    assert closing_ns is not None
    return waited(_stays(evidence, process), closing_ns, spare_ns - 1)


def _static(evidence: Evidence) -> Sequence[tuple[str, int]]:
    """Return each answered heartbeat of a static member, by its process and number."""
    return [
        (process, at)
        for process, requests in of_group(evidence, HEARTBEAT).items()
        for at, each in enumerate(requests)
        if each.member.instance_id and each.answer is not None
    ]


def _leaves(evidence: Evidence, place: tuple[str, int]) -> Evidence:
    """A static member leaves right after a heartbeat."""
    process, at = place
    after = of_group(evidence, HEARTBEAT)[process][at]
    assert after.answer is not None
    own = {"api": LEAVE, "api_key": int(Api.LEAVE_GROUP), "correlation_id": inserted_id(evidence)}
    named = MemberPart(after.member.group, after.member.member_id, instance_id=after.member.instance_id)
    at_ns = after.answer.t_ns
    request = changed(after.request, t_ns=at_ns + 1, members=(named,), received_ns=None, **own)
    answer = changed(
        after.answer,
        t_ns=at_ns + 2,
        members=(changed(named, group=None, error_code=0),),
        received_ns=None,
        **own,
    )
    return with_frames_added(evidence, (request, answer))


def _silences(evidence: Evidence) -> Sequence[Silence]:
    """Return the silences that can be made longer than the member's session."""
    return [
        each
        for each in silences(evidence)
        if each.silent_ns < each.session_ns and is_quiet(evidence, each.span.begin_ns + 1)
    ]


def _silent(evidence: Evidence, place: Silence) -> Evidence:
    """Nothing happens for longer than the member's session."""
    return waited(evidence, place.span.begin_ns + 1, place.session_ns + MORE_NS)


def _in_time(evidence: Evidence) -> Sequence[Silence]:
    limit_ns = setting_ms(evidence, MAX_POLL) * NS_PER_MS
    return [each for each in _silences(evidence) if each.session_ns + 2 * MORE_NS < limit_ns]


def _silent_beside_work(evidence: Evidence, place: Silence) -> Evidence:
    """The application works meanwhile, for less than it may."""
    begin_ns = place.span.begin_ns + 2
    worked_ns = begin_ns + place.session_ns + MORE_NS - 4
    turn = RecordsConsumed(
        seq=0,
        mono_ns=worked_ns,
        wall_ns=wall_ns(evidence, worked_ns),
        producer=place.process,
        count=0,
        partitions=[],
        polled_ns=begin_ns,
    )
    return with_added(_silent(evidence, place), turn)


def _beats(evidence: Evidence) -> Sequence[tuple[str, int]]:
    """Return process and number of the first of two heartbeats of one member at one broker, a while apart."""
    return [
        (process, at)
        for process, requests in of_group(evidence, HEARTBEAT).items()
        for at, (before, after) in enumerate(pairwise(requests))
        if before.received_ns is not None
        and before.request.broker == after.request.broker
        and before.received_ns < after.sent_ns
        and before.request.arrived_ns > lives(evidence)[process].begin_ns
    ]


def _between(evidence: Evidence, place: tuple[str, int]) -> list[Asked]:
    """Return what the member asked from the first heartbeat on, until the second."""
    process, at = place
    first, second = of_group(evidence, HEARTBEAT)[process][at : at + 2]
    return [
        each
        for each in of_group(evidence)[process]
        if first.request.arrived_ns <= each.request.arrived_ns < second.request.arrived_ns
        or (
            each.answer is not None
            and first.request.arrived_ns < each.answer.t_ns < second.request.arrived_ns
        )
    ]


def _not_sought(evidence: Evidence, place: tuple[str, int]) -> Evidence:
    """The broker answers that it is not the coordinator, and the member sends its next heartbeat to it."""
    edits: dict[int, Frame | None] = {}
    for each in _between(evidence, place):
        edits |= refused(each, ELSEWHERE)
    return with_edits(evidence, edits)


PERTURBATIONS = (
    of_consumers(
        "closed-without-leaving",
        FRAMES,
        "closes without leaving its group",
        "stays-after-close",
        _leavers,
        _stays,
    ),
    of_consumers(
        "closed-without-leaving-after-an-error",
        FRAMES,
        "closes without leaving its group, in which it had joined again after an error",
        "stays-after-close",
        _leavers_after_an_error,
        _stays,
    ),
    of_consumers(
        "closed-without-leaving-within-its-session",
        BOTH,
        "closes without leaving its group, just before its session would end",
        "stays-after-close",
        _leavers_in_time,
        _stays_within_session,
    ),
    of_consumers(
        "left-though-static",
        FRAMES,
        "leaves its group although it is a static member",
        "static-member-leaves",
        _static,
        _leaves,
        Verdict.FAIL,
    ),
    of_consumers(
        "session-ended-in-silence",
        BOTH,
        "sends its coordinator nothing for a second longer than its session lasts",
        "session-lapsed",
        _silences,
        _silent,
    ),
    of_consumers(
        "session-ended-during-work",
        BOTH,
        "sends its coordinator nothing while its application works, for less than it may",
        "session-lapsed",
        _in_time,
        _silent_beside_work,
    ),
    of_consumers(
        "coordinator-asked-on",
        FRAMES,
        "sends its next heartbeat to a broker that had answered that it is not the coordinator",
        "coordinator-not-sought",
        _beats,
        _not_sought,
        Verdict.FAIL,
    ),
)
