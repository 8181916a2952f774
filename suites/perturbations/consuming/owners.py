"""Partitions with two owners: in one generation, or an old owner that goes on although nothing excuses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from msgspec.structs import replace as changed

from harness.model.consumer_contract import PartitionsAssigned, PartitionsLost, PartitionsRevoked, Place
from harness.model.contract import AnyEvent
from harness.model.evidence import Evidence
from harness.model.units import NS_PER_MS
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation
from harness.workloads.consume import accounting
from suites.analysis.consuming.lives import Life, lives
from suites.analysis.consuming.ownership import Ownership, ownerships
from suites.analysis.consuming.timing import MAX_POLL, SESSION, SLACK_NS, setting_ms
from suites.analysis.consuming.unaware import excused
from suites.perturbations.consuming.deliveries import HISTORY, MORE_NS
from suites.perturbations.consuming.edits import (
    delivery,
    nap,
    wall_ns,
    with_added,
    with_changed,
    with_fault,
    without_place,
)
from suites.perturbations.consuming.kinds import CONSUME
from suites.perturbations.perturbation import channels

#: Partition, the old owner and the end of its ownership, the new owner and the beginning of its own.
Handover = tuple[int, str, int, str, int]


def _until_ns(life: Life) -> int:
    return life.end_ns if life.closing_ns is None else life.closing_ns


def handovers(evidence: Evidence) -> Sequence[Handover]:
    """Return the changes of owners after which both live, and nothing excuses the old one for a while."""
    found = []
    declared = [each for each in ownerships(evidence) if each.is_declared]
    for partition in sorted({each.partition for each in declared}):
        for old, new in pairwise(each for each in declared if each.partition == partition):
            if _is_plain(evidence, old, new):
                found.append((partition, old.process, old.end_ns or 0, new.process, new.begin_ns))
    return found


def _is_plain(evidence: Evidence, old: Ownership, new: Ownership) -> bool:
    if old.process == new.process or old.end_ns is None or old.end_ns > new.begin_ns:
        return False
    at_ns = new.begin_ns + SLACK_NS + MORE_NS
    alive = all(at_ns + MORE_NS < _until_ns(lives(evidence)[each.process]) for each in (old, new))
    owns = new.end_ns is None or at_ns < new.end_ns
    is_read = (old.partition, 0) in accounting.items(evidence)
    return alive and owns and is_read and not excused(evidence, old.process, new.begin_ns, at_ns)


def _unaware(evidence: Evidence, place: Handover, took_ns: int = NS_PER_MS) -> Evidence:
    """The old owner's listener says nothing, and the process takes a record a second after the new owner began."""
    partition, process, end_ns, _, begin_ns = place
    changes: dict[int, AnyEvent | None] = {
        at: changed(event, partitions=without_place(event.partitions, partition))
        for at, event in enumerate(evidence.history)
        if isinstance(event, PartitionsRevoked | PartitionsLost)
        and (event.producer, event.mono_ns) == (process, end_ns)
    }
    taken = delivery(evidence, process, partition, 0, begin_ns + SLACK_NS + MORE_NS, took_ns)
    return with_added(with_changed(evidence, changes), taken)


def _other_frozen(evidence: Evidence, place: Handover) -> Evidence:
    """The new owner is frozen meanwhile, which does not keep the old one from knowing."""
    _, _, _, process, begin_ns = place
    return with_added(_unaware(evidence, place), *nap(evidence, process, begin_ns + 1, begin_ns + SLACK_NS))


def _cut_afterwards(evidence: Evidence, place: Handover) -> Evidence:
    """Connections are cut only after the old owner has taken the record."""
    begin_ns = place[-1] + SLACK_NS + 2 * MORE_NS
    return _unaware(with_fault(evidence, "disconnect", begin_ns, MORE_NS), place)


def _late_ns(evidence: Evidence) -> int:
    return min(setting_ms(evidence, MAX_POLL), setting_ms(evidence, SESSION)) * NS_PER_MS


def _with_time(evidence: Evidence) -> Sequence[Handover]:
    later_ns = _late_ns(evidence) + SLACK_NS + 2 * MORE_NS
    return [
        place
        for place in handovers(evidence)
        if place[4] + later_ns < _until_ns(lives(evidence)[place[1]])
        and not _gets_it_back(evidence, place, later_ns)
    ]


def _gets_it_back(evidence: Evidence, place: Handover, within_ns: int) -> bool:
    """Return whether the old owner becomes the owner again, before it has reported what it took."""
    partition, process, _, _, begin_ns = place
    return any(
        each.process == process
        and each.partition == partition
        and begin_ns < each.begin_ns <= begin_ns + within_ns
        for each in ownerships(evidence)
    )


def _works_long(evidence: Evidence, place: Handover) -> Evidence:
    """The old owner works for a long time on the record that it took, but not on one before."""
    return _unaware(evidence, place, _late_ns(evidence))


def _shared(evidence: Evidence) -> Sequence[tuple[str, int, int, int]]:
    """Return a second process, partition, generation and moment for each ownership of a known generation."""
    found = []
    for each in ownerships(evidence):
        at_ns = each.begin_ns + 1
        if each.generation < 0 or (each.end_ns is not None and each.end_ns <= at_ns):
            continue
        for life in lives(evidence).values():
            told = any(
                other.process == life.process and other.is_declared and other.begin_ns < at_ns
                for other in ownerships(evidence)
            )
            is_free = life.process != each.process and not any(
                other.process == life.process
                and other.partition == each.partition
                and (other.end_ns is None or other.end_ns > at_ns)
                for other in ownerships(evidence)
            )
            if told and is_free and at_ns < _until_ns(life):
                found.append((life.process, each.partition, each.generation, at_ns))
    return found


def _assigned_twice(evidence: Evidence, place: tuple[str, int, int, int]) -> Evidence:
    process, partition, generation, at_ns = place
    event = PartitionsAssigned(
        seq=0,
        mono_ns=at_ns,
        wall_ns=wall_ns(evidence, at_ns),
        producer=process,
        partitions=[Place(evidence.record.topic, partition)],
        generation=generation,
    )
    return with_added(evidence, event)


def _kind(
    name: str,
    defect: str,
    places: Callable[[Evidence], Sequence[Handover]],
    apply: Callable[[Evidence, Handover], Evidence],
    *changes: str,
) -> Perturbation:
    return Perturbation(
        name, channels(*changes), defect, ("outdated-owner",), places, apply, Verdict.FAIL, workloads=CONSUME
    )


PERTURBATIONS = (
    Perturbation(
        "assigned-to-two",
        HISTORY,
        "owns a partition in the generation in which another member owns it",
        ("two-owners",),
        _shared,
        _assigned_twice,
        Verdict.FAIL,
        workloads=CONSUME,
    ),
    _kind(
        "goes-on-after-rebalance",
        "goes on reading a partition more than a second after another member got it",
        handovers,
        _unaware,
        "history",
    ),
    _kind(
        "goes-on-while-another-is-frozen",
        "goes on reading a partition that another member got, while that member is frozen",
        handovers,
        _other_frozen,
        "history",
    ),
    _kind(
        "goes-on-before-a-cut",
        "goes on reading a partition that another member got, before connections are cut",
        handovers,
        _cut_afterwards,
        "history",
        "faults",
    ),
    _kind(
        "goes-on-before-long-work",
        "goes on reading a partition that another member got, and only then works for long",
        _with_time,
        _works_long,
        "history",
    ),
)
