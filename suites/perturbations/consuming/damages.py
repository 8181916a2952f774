"""Batches with a wrong checksum that were delivered, or passed over, and records beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.model.consumer_contract import ConsumerError
from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from harness.workloads.consume import accounting
from suites.analysis.consuming.damages import CRCS, Damage, damages, told_ns
from suites.analysis.consuming.lives import lives
from suites.analysis.consuming.ownership import ownerships
from suites.perturbations.consuming.deliveries import neighbours_value, once, with_value
from suites.perturbations.consuming.edits import delivery, with_added, with_changed
from suites.perturbations.consuming.kinds import CONSUME, of_consumers
from suites.perturbations.edits import with_record
from suites.perturbations.perturbation import channels

HISTORY = channels("history")
#: A process that is asked to close has still been able to report a turn this long before.
BEFORE_NS = NS_PER_MS
Pair = tuple[int, int]


class _Stop(NamedTuple):
    """A process that stayed at a damaged batch: its next record, and by when it had the time to go on."""

    damage: Damage
    offset: int
    closing_ns: int


def _stops(evidence: Evidence) -> Sequence[_Stop]:
    """Return where a process got an error about a damaged batch and stayed until its end."""
    found = []
    for damage in damages(evidence):
        closing_ns = lives(evidence)[damage.process].closing_ns
        ends = [
            each.runs[-1][-1].offset + 1
            for each in ownerships(evidence)
            if (each.process, each.partition) == (damage.process, damage.partition) and each.runs[-1]
        ]
        is_known = (damage.partition, damage.end) in accounting.items(evidence)
        if closing_ns is None or not ends or not damage.begin <= ends[-1] < damage.end:
            continue
        if is_known and any(at_ns < closing_ns - BEFORE_NS for at_ns in told_ns(evidence, damage)):
            found.append(_Stop(damage, ends[-1], closing_ns))
    return found


def _taken(evidence: Evidence, stop: _Stop, offset: int, at_ns: int) -> Evidence:
    taken = delivery(evidence, stop.damage.process, stop.damage.partition, offset, at_ns, 0)
    return with_added(evidence, taken)


def _delivered(evidence: Evidence, stop: _Stop) -> Evidence:
    return _taken(evidence, stop, stop.offset, stop.damage.passed_ns + 1)


def _delivered_changed(evidence: Evidence, stop: _Stop) -> Evidence:
    other = accounting.items(evidence)[stop.damage.partition, stop.damage.end]
    told = _delivered(evidence, stop)
    return with_value(told, (stop.damage.partition, stop.offset), f"{other}?")


def _left(evidence: Evidence, stop: _Stop) -> Evidence:
    return _taken(evidence, stop, stop.damage.end, stop.closing_ns - BEFORE_NS)


def _dropped(evidence: Evidence, stop: _Stop) -> Evidence:
    return _left(_silent(evidence, stop.damage.process), stop)


def _silent(evidence: Evidence, process: str) -> Evidence:
    """No call of a process ends with an exception."""
    return with_changed(
        evidence,
        {
            at: None
            for at, event in enumerate(evidence.history)
            if isinstance(event, ConsumerError) and event.producer == process
        },
    )


def _beside(evidence: Evidence) -> Sequence[Pair]:
    """Return the records that one member got once, and that belong to no damaged batch, in trials with such batches."""
    found = damages(evidence)
    return [place for place in once(evidence) if found and not any(each.has(*place) for each in found)]


def _passed_over_beside(evidence: Evidence, place: Pair) -> Evidence:
    return with_value(evidence, place, None)


def _foreign_beside(evidence: Evidence, place: Pair) -> Evidence:
    """The client cannot compare checksums, and delivers another record than the log has, outside of the batches."""
    unable = with_record(evidence, not_set={**evidence.record.not_set, CRCS: "never"})
    return neighbours_value(unable, place)


PERTURBATIONS = (
    of_consumers(
        "damaged-batch-delivered",
        HISTORY,
        "delivers a record of a batch whose checksum was wrong",
        "damaged-batch-delivered",
        _stops,
        _delivered,
    ),
    of_consumers(
        "damaged-record-delivered",
        HISTORY,
        "delivers a record as it was damaged, although it compares checksums",
        "foreign-record",
        _stops,
        _delivered_changed,
        Verdict.FAIL,
    ),
    of_consumers(
        "damaged-batch-left",
        HISTORY,
        "goes past a batch whose checksum was wrong, after an error",
        "damaged-batch-left",
        _stops,
        _left,
    ),
    of_consumers(
        "damaged-batch-dropped",
        HISTORY,
        "goes past a batch whose checksum was wrong without an error",
        "gap",
        _stops,
        _dropped,
        Verdict.FAIL,
    ),
    Perturbation(
        "record-passed-over-beside-damage",
        HISTORY,
        "leaves out a record that belongs to none of the damaged batches of which it reported errors",
        ("skipped", "gap"),
        _beside,
        _passed_over_beside,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    of_consumers(
        "foreign-record-beside-damage",
        channels("history", "record"),
        "cannot compare checksums, and delivers another record beside the damaged batches",
        "foreign-record",
        _beside,
        _foreign_beside,
        Verdict.FAIL,
    ),
)
