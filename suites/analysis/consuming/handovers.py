"""What SyncGroup gave each member, and what its listener was told then. Pure views."""

from __future__ import annotations

from typing import Final, NamedTuple

from harness.model.consumer_contract import (
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    Place,
)
from harness.model.evidence import Evidence, view
from suites.analysis.consuming.asked import Asked
from suites.analysis.consuming.generations import Generation, generations
from suites.analysis.consuming.lives import lives

ListenerCall = PartitionsAssigned | PartitionsRevoked | PartitionsLost
NOTHING: Final[frozenset[int]] = frozenset()


class Given(NamedTuple):
    """An assignment in the trial's topic: the partitions that an answer to SyncGroup gave a member at ``at_ns``."""

    generation: Generation
    synced: Asked
    partitions: frozenset[int]

    @property
    def at_ns(self) -> int:
        """When the answer passed the witness."""
        return self.synced.answer.t_ns if self.synced.answer is not None else 0


class Told(NamedTuple):
    """A call of a member's listener, with its partitions and those that the member had just before."""

    event: ListenerCall
    partitions: frozenset[int]
    owned: frozenset[int]

    @property
    def at_ns(self) -> int:
        """When the call was reported."""
        return self.event.mono_ns

    @property
    def assigns(self) -> bool:
        """True if it is onPartitionsAssigned."""
        return isinstance(self.event, PartitionsAssigned)


@view
def given(evidence: Evidence) -> dict[str, list[Given]]:
    """Return process -> its assignments of the classic protocol, in the order of their answers."""
    topic = evidence.record.topic
    return {
        process: [
            Given(each, sync, frozenset(at.partition for at in sync.answer.offsets if at.topic == topic))
            for each in of
            for sync in each.synced
            if sync.answer is not None and sync.code == 0
        ]
        for process, of in generations(evidence).items()
    }


@view
def told(evidence: Evidence) -> dict[str, list[Told]]:
    """Return process -> the calls of its listener."""
    found: dict[str, list[Told]] = {process: [] for process in lives(evidence)}
    owned: dict[str, frozenset[int]] = {}
    for event in evidence.history:
        process = str(event.producer)
        if isinstance(event, ListenerCall) and process in found:
            mine, before = _ours(evidence, event.partitions), owned.get(process, NOTHING)
            found[process].append(Told(event, mine, before))
            owned[process] = before | mine if isinstance(event, PartitionsAssigned) else before - mine
    return found


def _ours(evidence: Evidence, places: list[Place]) -> frozenset[int]:
    return frozenset(place.partition for place in places if place.topic == evidence.record.topic)
