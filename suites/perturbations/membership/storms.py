"""Groups that rebalance again and again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import Frame
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from suites.analysis.consuming.asked import Asked, of_group
from suites.checks.consume_wire.rebalance_storm import MOST, SYNC, calms
from suites.perturbations.consuming.kinds import CONSUME
from suites.perturbations.edits import inserted_id, with_frames_added
from suites.perturbations.perturbation import channels

#: Far from the generations of the trial.
LATER = 1_000


def _synced(evidence: Evidence) -> Sequence[Asked]:
    """Return each assignment within a time without changes."""
    return [
        each
        for requests in of_group(evidence, SYNC).values()
        for each in requests
        if each.code == 0
        and each.answer is not None
        and any(calm.span.begin_ns <= each.answer.t_ns < calm.span.end_ns for calm in calms(evidence))
    ]


def _again_and_again(evidence: Evidence, place: Asked) -> Evidence:
    return with_frames_added(evidence, _generations(place, inserted_id(evidence)))


def _generations(place: Asked, first_id: int) -> Iterator[Frame]:
    assert place.answer is not None
    at_ns, member = place.answer.t_ns, place.member
    for number in range(MOST + 1):
        own = {"correlation_id": first_id + number, "received_ns": None}
        later = (changed(member, epoch=LATER + number),)
        yield changed(place.request, t_ns=at_ns + 2 * number + 1, members=later, **own)
        yield changed(place.answer, t_ns=at_ns + 2 * number + 2, **own)


PERTURBATIONS = (
    Perturbation(
        "rebalanced-without-an-end",
        channels("frames"),
        "joins its group again and again within a moment",
        ("rebalance-storm",),
        _synced,
        _again_and_again,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
)
