"""Members of KIP-848 that acknowledge changes before their listeners know them, or their records are committed."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace as changed

from harness.model.consumer_contract import PartitionsAssigned
from harness.model.evidence import Evidence
from harness.model.verdicts import Verdict
from suites.analysis.consuming.asked import of_group
from suites.analysis.consuming.committing import is_automatic
from suites.analysis.consuming.reconciliations import Change, Told, changes, processed
from suites.perturbations.consuming.edits import wall_ns, with_changed
from suites.perturbations.consuming.kinds import of_consumers
from suites.perturbations.membership.exchanges import without
from suites.perturbations.perturbation import channels


def _taken_over(evidence: Evidence) -> Sequence[int]:
    return [
        at
        for at, each in enumerate(changes(evidence))
        if each.is_taken_over and isinstance(each.before, PartitionsAssigned)
    ]


def _given_up(evidence: Evidence) -> Sequence[int]:
    return [
        at for at, each in enumerate(changes(evidence)) if not each.is_taken_over and each.before is not None
    ]


def _of(evidence: Evidence, place: int) -> Change:
    return list(changes(evidence))[place]


def _called_late(evidence: Evidence, place: int) -> Evidence:
    """The listener is called only after the heartbeat."""
    change = _of(evidence, place)
    edits: dict[int, Told | None] = {}
    at_ns = change.beat.now.request.arrived_ns + 1
    for index, event in enumerate(evidence.history):
        if event is change.before:
            edits[index] = changed(event, mono_ns=at_ns, wall_ns=wall_ns(evidence, at_ns))
    return with_changed(evidence, dict(edits))


def _committing(evidence: Evidence) -> Sequence[int]:
    """Return what was given up after records were processed, by clients that commit by themselves."""
    if not is_automatic(evidence):
        return ()
    return [at for at in _given_up(evidence) if processed(evidence, _of(evidence, at))]


def _uncommitted(evidence: Evidence, place: int) -> Evidence:
    """No commit of the partition is sent before the heartbeat."""
    change = _of(evidence, place)
    gone = [
        asked
        for asked in of_group(evidence, "OffsetCommit")[change.beat.now.process]
        if asked.request.arrived_ns < change.beat.now.request.arrived_ns
        and any(part.partition == change.partition for part in asked.request.offsets)
    ]
    return without(evidence, gone)


PERTURBATIONS = (
    of_consumers(
        "given-up-before-it-was-told",
        channels("history"),
        "gives a partition up before its listener is told",
        "given-up-before-callback",
        _given_up,
        _called_late,
        Verdict.FAIL,
    ),
    of_consumers(
        "taken-over-before-it-was-told",
        channels("history"),
        "takes a partition over before its listener is told",
        "taken-over-before-callback",
        _taken_over,
        _called_late,
    ),
    of_consumers(
        "reconciled-without-a-commit",
        channels("frames"),
        "gives a partition up without the automatic commit before that",
        "given-up-before-commit",
        _committing,
        _uncommitted,
    ),
)
