"""How a fault on the members of a group, or on what they read, shows: counted in the members' own events."""

from __future__ import annotations

from faults.effects import members as faults
from harness.model.consumer_contract import ConsumerError, PartitionsAssigned
from harness.model.evidence import Evidence
from harness.model.rows import FrameKind
from harness.plugins.scenario import Consequence
from harness.trial.group import turn_of
from harness.workloads.consume import accounting
from suites.analysis.consuming.ownership import ownerships
from suites.analysis.consuming.settlements import settlements
from suites.scenarios.effects.fault_windows import begun, during, windows

#: How long after a fault the group may take to notice it: the longest session or rebalance timeout.
NOTICED_NS = 20_000_000_000


def rebalanced(evidence: Evidence) -> Consequence:
    """Assignments after a fault began, other than the first one of each process."""
    began_ns = min((begin for begin, _ in windows(evidence)), default=None)
    first: set[str] = set()
    count = 0
    for event in evidence.history:
        if isinstance(event, PartitionsAssigned):
            process = str(event.producer)
            late = began_ns is not None and began_ns <= event.mono_ns
            count += late and process in first
            first.add(process)
    return Consequence(count, "assignments followed the fault")


def moved(evidence: Evidence) -> Consequence:
    """Partitions that another process took over after a fault began."""
    began_ns = min((begin for begin, _ in windows(evidence)), default=None)
    owner: dict[int, str] = {}
    count = 0
    for each in ownerships(evidence):
        before = owner.get(each.partition)
        late = began_ns is not None and began_ns <= each.begin_ns
        count += late and before is not None and before != each.process
        owner[each.partition] = each.process
    return Consequence(count, "partitions went to another process")


def attempted(evidence: Evidence) -> Consequence:
    """Attempts of calls that ended in the fault's window or shortly after, refused or not."""
    count = sum(faults.attempted(row, evidence) for row in evidence.faults)
    return Consequence(count, "calls were attempted that a client should refuse")


def settled(evidence: Evidence) -> Consequence:
    """Changes of the group's members after which each partition had one owner before the next change."""
    count = sum(each.settled_ns is not None for each in settlements(evidence))
    return Consequence(count, "changes of the members were followed by one owner for each partition")


def upgraded(evidence: Evidence) -> Consequence:
    """Partitions that a process was assigned while one with other settings, before or after an upgrade, had some."""
    owned = ownerships(evidence)
    count = sum(
        begun(evidence, each.begin_ns)
        and any(
            turn_of(other.process) != turn_of(each.process)
            and other.begin_ns <= each.begin_ns
            and (other.end_ns is None or each.begin_ns < other.end_ns)
            for other in owned
        )
        for each in owned
    )
    return Consequence(count, "partitions were assigned beside members with other settings")


def interrupted(evidence: Evidence) -> Consequence:
    """Exceptions that applications got from a call after a fault began, and survived."""
    count = sum(
        isinstance(event, ConsumerError) and begun(evidence, event.mono_ns) for event in evidence.history
    )
    return Consequence(count, "calls of applications ended with an exception")


def held_up(evidence: Evidence) -> Consequence:
    """Records that were written while a member was stopped, some time before it went on, and delivered after that."""
    count = sum(faults.withheld(row, evidence) for row in evidence.faults)
    return Consequence(count, "records waited for their member")


def slow_turns(evidence: Evidence) -> Consequence:
    """Records that were polled while a fault was in effect and reported at least half a second later."""
    count = sum(
        each.processed_ns - each.polled_ns >= 500_000_000
        and any(begin <= each.polled_ns <= end for begin, end in windows(evidence))
        for each in accounting.deliveries(evidence)
    )
    return Consequence(count, "records were worked on for long")


def cut_off(evidence: Evidence) -> Consequence:
    """Connections that ended while a fault was in effect."""
    count = sum(frame.kind is FrameKind.CLOSE and during(evidence, frame.t_ns) for frame in evidence.frames)
    return Consequence(count, "connections ended")
