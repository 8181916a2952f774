"""Leaders that assign nothing or too much, followers that assign, and members that apply something else."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace as changed

from harness.model.consumer_contract import Place
from harness.model.evidence import Evidence
from harness.model.rows import Frame
from harness.model.verdicts import Verdict
from suites.analysis.consuming.asked import Asked
from suites.analysis.consuming.generations import Generation
from suites.checks.consume_wire.assignment_not_followed import Applied, applied, syncs
from suites.perturbations.consuming.edits import with_changed
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.membership.exchanges import with_edits
from suites.perturbations.perturbation import channels

FRAMES, HISTORY = channels("frames"), channels("history")
ASSIGNMENTS = ("assignments",)


def _syncs(fits: Callable[[Generation, Asked], object]) -> Callable[[Evidence], Sequence[int]]:
    return lambda evidence: [at for at, each in enumerate(syncs(evidence)) if fits(*each)]


def _leads(generation: Generation, sync: Asked) -> bool:
    return generation.leads and not generation.joined.member.instance_id and bool(sync.request.offsets)


def _saying(evidence: Evidence, place: int, edit: Callable[[Frame], Frame]) -> Evidence:
    _, sync = list(syncs(evidence))[place]
    return with_edits(evidence, {id(sync.request): edit(sync.request)})


def _said(frame: Frame, *said: str) -> Frame:
    return changed(frame, members=(changed(frame.members[0], said=said),))


def _nothing(evidence: Evidence, place: int) -> Evidence:
    return _saying(evidence, place, lambda frame: changed(_said(frame), offsets=()))


def _twice(evidence: Evidence, place: int) -> Evidence:
    return _saying(evidence, place, lambda frame: changed(frame, offsets=(*frame.offsets, frame.offsets[0])))


def _follower(evidence: Evidence, place: int) -> Evidence:
    return _saying(evidence, place, lambda frame: _said(frame, *ASSIGNMENTS))


def _told(fits: Callable[[Evidence, Applied], object]) -> Callable[[Evidence], Sequence[int]]:
    """Return the numbers of the calls of listeners that come first after an assignment."""
    return lambda evidence: [
        at for at, each in enumerate(applied(evidence)) if each.is_first and fits(evidence, each)
    ]


def _not_given(evidence: Evidence, each: Applied) -> list[int]:
    """Return the partitions that none of the assignments of a call has, and that the member does not own."""
    every = range(evidence.record.spec.workload.partitions)
    known = each.told.owned.union(*(one.partitions for one in each.given))
    return [partition for partition in every if partition not in known]


def _with_partitions(evidence: Evidence, each: Applied, partitions: Sequence[int]) -> Evidence:
    places = [Place(evidence.record.topic, partition) for partition in sorted(partitions)]
    event = each.told.event
    return with_changed(evidence, {evidence.history.index(event): changed(event, partitions=places)})


def _more(evidence: Evidence, place: int) -> Evidence:
    each = list(applied(evidence))[place]
    return _with_partitions(evidence, each, [*each.told.partitions, _not_given(evidence, each)[0]])


def _is_needed(_: Evidence, each: Applied) -> bool:
    """Return whether a call that leaves one partition out would fit none of the assignments."""
    return bool(each.told.partitions) and len(each.given) == 1


def _less(evidence: Evidence, place: int) -> Evidence:
    each = list(applied(evidence))[place]
    return _with_partitions(evidence, each, sorted(each.told.partitions)[1:])


PERTURBATIONS = (
    of_consumers(
        "led-without-assigning",
        FRAMES,
        "sends no assignment although it leads, as a member that is not static",
        "leader-assigns-nothing",
        _syncs(_leads),
        _nothing,
        Verdict.FAIL,
    ),
    of_consumers(
        "led-twice-over",
        FRAMES,
        "assigns a partition to two members",
        "assigned-to-two",
        _syncs(_leads),
        _twice,
        Verdict.FAIL,
    ),
    of_consumers(
        "assigned-without-leading",
        FRAMES,
        "sends an assignment although another member leads",
        "follower-assigns",
        _syncs(lambda generation, _: not generation.leads),
        _follower,
    ),
    of_consumers(
        "applied-what-was-not-given",
        HISTORY,
        "tells its listener of a partition that no assignment gave it since the last one that it told",
        "assigned-not-given",
        _told(_not_given),
        _more,
        Verdict.FAIL,
    ),
    of_consumers(
        "applied-less-than-given",
        HISTORY,
        "does not tell its listener of a partition that its assignment gave it",
        "given-not-assigned",
        _told(_is_needed),
        _less,
        Verdict.FAIL,
    ),
)
