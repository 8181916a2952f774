"""Who owned each partition when, as the processes reported it. Where two did at once, both are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from harness.model.consumer_contract import (
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RecordsConsumed,
)
from harness.model.contract import ShutdownComplete
from harness.model.evidence import Evidence
from harness.model.harness_events import MemberKilled


@dataclass
class Owned:
    """One process's ownership of one partition. ``ended`` is revoked, lost, killed or closed; empty at the trial's end.

    ``generation`` is -1 if the client does not report it. Without a listener, it begins with the first record.
    """

    process: str
    partition: int
    begin_ns: int
    end_ns: int
    generation: int = -1
    is_declared: bool = True
    ended: str = ""


class Piece(NamedTuple):
    """A period in which a partition had the same owners."""

    partition: int
    begin_ns: int
    end_ns: int
    owners: tuple[Owned, ...]

    @property
    def is_shared(self) -> bool:
        """True if two processes owned it."""
        return len({each.process for each in self.owners}) > 1

    @property
    def is_of_one_generation(self) -> bool:
        """True if two processes reported the same generation. One that reports none may be in any."""
        told = {(each.process, each.generation) for each in self.owners if each.generation >= 0}
        return len({generation for _, generation in told}) < len(told)


def owned(evidence: Evidence, end_ns: int) -> list[Owned]:
    """Return all ownerships of the trial's topic, in the order of their begin. Those that last end at ``end_ns``."""
    found: list[Owned] = []
    now: dict[tuple[str, int], Owned] = {}

    def end(process: str, partition: int, at_ns: int, how: str) -> None:
        if (mine := now.pop((process, partition), None)) is not None:
            mine.end_ns, mine.ended = at_ns, how

    def begin(mine: Owned) -> None:
        now[mine.process, mine.partition] = mine
        found.append(mine)

    topic = evidence.record.topic
    for event in evidence.history:
        process, at_ns = str(event.producer or ""), event.mono_ns
        match event:
            case PartitionsAssigned():
                for place in event.partitions:
                    if place.topic == topic:
                        end(process, place.partition, at_ns, "assigned again")
                        begin(Owned(process, place.partition, at_ns, end_ns, event.generation))
            case PartitionsRevoked() | PartitionsLost():
                how = "lost" if isinstance(event, PartitionsLost) else "revoked"
                for place in event.partitions:
                    if place.topic == topic:
                        end(process, place.partition, at_ns, how)
            case RecordsConsumed():
                for part in event.partitions:
                    if part.topic == topic and part.offsets and (process, part.partition) not in now:
                        mine = Owned(process, part.partition, event.polled_ns, end_ns, is_declared=False)
                        begin(mine)
            case MemberKilled() | ShutdownComplete():
                how = "killed" if isinstance(event, MemberKilled) else "closed"
                for key in [key for key in now if key[0] == process]:
                    end(*key, at_ns, how)
            case _:
                pass
    return sorted(found, key=lambda each: (each.begin_ns, each.partition))


def pieces(ownerships: Iterable[Owned]) -> Iterator[Piece]:
    """Yield the periods of each partition in which it had an owner, cut where an owner begins or ends."""
    of: dict[int, list[Owned]] = {}
    for each in ownerships:
        of.setdefault(each.partition, []).append(each)
    for partition, mine in sorted(of.items()):
        edges = sorted({edge for each in mine for edge in (each.begin_ns, each.end_ns)})
        begun: dict[int, list[Owned]] = {}
        for each in mine:
            begun.setdefault(each.begin_ns, []).append(each)
        owners: list[Owned] = []
        for begin_ns, end_ns in pairwise(edges):
            owners = [each for each in (*owners, *begun.get(begin_ns, ())) if each.end_ns > begin_ns]
            if owners:
                yield Piece(partition, begin_ns, end_ns, tuple(owners))
