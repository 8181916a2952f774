"""Members of KIP-848 that send heartbeats at their own pace."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as changed

from harness.model.evidence import Evidence
from harness.model.rows import Frame
from harness.model.units import NS_PER_MS
from harness.plugins.perturbation import Perturbation
from suites.analysis.consuming.beats import Beat, all_beats
from suites.checks.consume_wire.heartbeat_pace import rows
from suites.perturbations.consuming.edits import with_fault
from suites.perturbations.consuming.kinds import CONSUME
from suites.perturbations.edits import inserted_id, with_frames_added
from suites.perturbations.membership.exchanges import with_edits
from suites.perturbations.perturbation import channels

#: The interval that the coordinator asks for is four times the one that the member keeps.
LONGER = 4


def _answered(evidence: Evidence) -> list[Beat]:
    return [
        beat
        for beats in all_beats(evidence).values()
        for beat in beats
        if beat.is_steady and beat.now.answer is not None and beat.now.request.received_ns is None
    ]


def _twice(evidence: Evidence, place: int) -> Evidence:
    """A heartbeat follows the last one before it has its answer."""
    now = _answered(evidence)[place].now
    assert now.answer is not None
    own = {"correlation_id": inserted_id(evidence), "received_ns": None}
    again = changed(now.request, t_ns=now.request.t_ns, **own)
    told = changed(now.answer, t_ns=now.answer.t_ns + 2, **own)
    first = changed(now.answer, t_ns=now.answer.t_ns + 1)
    return with_frames_added(with_edits(evidence, {id(now.answer): first}), (again, told))


def _rows(evidence: Evidence) -> Sequence[int]:
    return range(sum(1 for _ in rows(evidence)))


def _impatient(evidence: Evidence, place: int) -> Evidence:
    """The coordinator asks for a longer interval, which the member does not keep."""
    row = list(rows(evidence))[place]
    begins = {(gap.process, gap.span.begin_ns): gap for gap in row}
    edits: dict[int, Frame | None] = {}
    for beats in all_beats(evidence).values():
        for each in (beat.now for beat in beats):
            gap = begins.get((each.process, each.request.arrived_ns))
            if gap is not None and each.answer is not None:
                longer = gap.interval_ns * LONGER // NS_PER_MS
                told = changed(each.told, heartbeat_interval_ms=longer)
                edits[id(each.answer)] = changed(each.answer, members=(told,))
    return with_edits(evidence, edits)


def _impatient_before_a_cut(evidence: Evidence, place: int) -> Evidence:
    """Connections are cut only after that."""
    end_ns = list(rows(evidence))[place][-1].span.end_ns
    return with_fault(_impatient(evidence, place), "disconnect", end_ns + 1, NS_PER_MS)


PERTURBATIONS = (
    Perturbation(
        "sent-while-outstanding",
        channels("frames"),
        "sends a heartbeat before the one before is answered",
        ("heartbeats-overlap",),
        lambda evidence: range(len(_answered(evidence))),
        _twice,
        workloads=CONSUME,
    ),
    Perturbation(
        "own-interval-kept",
        channels("frames"),
        "sends heartbeats more often than its coordinator asks it to",
        ("own-interval",),
        _rows,
        _impatient,
        workloads=CONSUME,
    ),
    Perturbation(
        "own-interval-kept-before-a-cut",
        channels("frames", "faults"),
        "sends heartbeats more often than its coordinator asks it to, before connections are cut",
        ("own-interval",),
        _rows,
        _impatient_before_a_cut,
        workloads=CONSUME,
    ),
)
