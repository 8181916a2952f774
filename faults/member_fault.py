"""The base class of the faults that act on one member of a group.

A kind says once what it does, for both modes: the members of a simulated trial have the methods of live ones, and never
wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from harness.model.evidence import Evidence
from harness.model.mode import BOTH_MODES
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import Fault, FaultParam, LiveLane, Members, toxic_name
from harness.simulated.lane import SimulatedLane
from harness.simulated.store import at_once

#: Which member: the first, second, ... of those that live at the time, in the order of their start.
MEMBER: Final = FaultParam("member", 1, 1, 5, "the member, by its place among those that live")
#: How long a member may take to leave.
LEAVE_MS: Final = 10_000


class Group(NamedTuple):
    """What a fault on members acts on: the processes, the topic, and the number of its partitions."""

    members: Members
    topic: str
    partitions: int


class MemberFault(Fault):
    """A fault kind that acts on one process of a group. A trial without a group cannot have it.

    A kind defines ``act``, and ``undo`` if the fault has an end. ``target`` chooses the process.
    """

    seen_by: tuple[str, ...] = ("client", "broker")
    params: tuple[FaultParam, ...] = (MEMBER,)
    modes = BOTH_MODES
    of_members = True

    async def target(self, spec: FaultSpec, group: Group) -> str | None:
        """Return the process on which the fault acts, the last one if there are fewer than ``member``.

        Return None if none lives: the fault then has no effect.
        """
        alive = group.members.processes
        return alive[min(self.values(spec)["member"], len(alive)) - 1] if alive else None

    async def act(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Begin the fault."""

    async def undo(self, spec: FaultSpec, group: Group, process: str) -> None:
        """End the fault, whose process may have ended."""

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Begin the fault on the process that it chooses now."""
        await self._begin(spec, _of_live(lane))

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """End it, if it has begun."""
        if lane.members is not None:
            await self._end(spec, _of_live(lane))

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Begin the fault on the process that it chooses now."""
        at_once(self._begin(spec, _of_simulated(lane)))

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """End it, if it has begun."""
        if lane.members is not None:
            at_once(self._end(spec, _of_simulated(lane)))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the fault itself: it acts on a process, not on frames."""
        return int(row.effective_ns is not None)

    def effects(self, row: FaultRow, evidence: Evidence) -> int | None:
        """See ``shown_by``."""
        raise NotImplementedError

    async def _begin(self, spec: FaultSpec, group: Group) -> None:
        # Noted before it acts: an interrupted fault is undone too.
        if (process := await self.target(spec, group)) is not None:
            group.members.held[toxic_name(spec)] = process
            await self.act(spec, group, process)

    async def _end(self, spec: FaultSpec, group: Group) -> None:
        if (process := group.members.held.pop(toxic_name(spec), None)) is not None:
            await self.undo(spec, group, process)


def _of_live(lane: LiveLane) -> Group:
    assert lane.members is not None  # harness/planning/validate_group
    return Group(lane.members, lane.topic, lane.partitions)


def _of_simulated(lane: SimulatedLane) -> Group:
    assert lane.members is not None  # harness/planning/validate_group
    return Group(lane.members, lane.topic, lane.cluster.partition_count(lane.topic))
