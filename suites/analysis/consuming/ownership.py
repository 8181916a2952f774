"""When each process owned each partition, by its listener's events.

An ownership begins with ``partitions_assigned`` and ends with ``partitions_revoked`` or ``partitions_lost``, with the
end of the process, or with the trial. Without a subscription there is no listener: the first record of a partition
begins an ownership, and only the end of the process ends it.

A record belongs to the ownership and the position of the time at which it was taken. A client that works on several
turns at once may report it when the listener has been called, or the application has sought, in the meantime.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from harness.model.consumer_contract import (
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    Place,
    RecordsConsumed,
)
from harness.model.contract import OpComplete, ShutdownComplete
from harness.model.evidence import Evidence, view
from harness.model.harness_events import MemberKilled
from harness.workloads.consume.accounting import Delivery

#: Calls that set positions. A new subscription is followed by assignments, and sets none itself.
_SEEKS = ("seek", "assign", "unsubscribe")


@dataclass
class Ownership:
    """One process's ownership of one partition. ``end_ns`` is None if the trial's history ends before it.

    ``runs`` are its deliveries, split by when they were taken at ``sought_ns``: when the application had sought.
    """

    process: str
    partition: int
    begin_ns: int
    end_ns: int | None = None
    generation: int = -1
    is_declared: bool = True
    sought_ns: list[int] = field(default_factory=list)
    runs: list[list[Delivery]] = field(default_factory=lambda: [[]])


@view
def ownerships(evidence: Evidence) -> list[Ownership]:
    """Return all ownerships of the trial's topic, in the order in which they began."""
    found: list[Ownership] = []
    now: dict[tuple[str, int], Ownership] = {}
    for event in evidence.history:
        process = str(event.producer or "")
        match event:
            case PartitionsAssigned():
                for partition in _ours(evidence, event.partitions):
                    _end(now, process, partition, event.mono_ns)
                    mine = Ownership(process, partition, event.mono_ns, generation=event.generation)
                    now[process, partition] = mine
                    found.append(mine)
            case PartitionsRevoked() | PartitionsLost():
                for partition in _ours(evidence, event.partitions):
                    _end(now, process, partition, event.mono_ns)
            case RecordsConsumed():
                _deliver(evidence, event, process, now, found)
            case OpComplete() if event.op in _SEEKS:
                for (owner, _), each in now.items():
                    if owner == process:
                        each.sought_ns.append(event.mono_ns)
                        each.runs.append([])
            case MemberKilled() | ShutdownComplete():
                for owner, partition in [key for key in now if key[0] == process]:
                    _end(now, owner, partition, event.mono_ns)
    return found


def _deliver(
    evidence: Evidence,
    event: RecordsConsumed,
    process: str,
    now: dict[tuple[str, int], Ownership],
    found: list[Ownership],
) -> None:
    for part in event.partitions:
        if part.topic != evidence.record.topic or not part.offsets:
            continue
        mine = now.get((process, part.partition))
        if mine is None:
            mine = Ownership(process, part.partition, event.polled_ns, is_declared=False)
            now[process, part.partition] = mine
            found.append(mine)
        if event.polled_ns < mine.begin_ns:
            continue  # taken under an ownership that has ended
        mine.runs[bisect_right(mine.sought_ns, event.polled_ns)] += [
            Delivery(process, part.partition, offset, value, event.polled_ns, event.mono_ns)
            for offset, value in zip(part.offsets, part.values, strict=True)
        ]


def _ours(evidence: Evidence, places: list[Place]) -> list[int]:
    return [place.partition for place in places if place.topic == evidence.record.topic]


def _end(now: dict[tuple[str, int], Ownership], process: str, partition: int, at_ns: int) -> None:
    if (mine := now.pop((process, partition), None)) is not None:
        mine.end_ns = at_ns
