"""The base class of the faults that act on one member of a group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from harness.model.errors import KafkaTrialError
from harness.model.evidence import Evidence
from harness.model.mode import BOTH_MODES
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import Fault, FaultParam, LiveLane, Members, toxic_name
from harness.simulated.lane import SimulatedLane
from harness.simulated.members import SimulatedMembers

#: Which member: the first, second, ... of those that live at the time, in the order of their start.
MEMBER: Final = FaultParam("member", 1, 1, 5, "the member, by its place among those that live")
#: How long a member may take to leave.
LEAVE_MS: Final = 10_000


class MemberFault(Fault):
    """A fault kind that acts on one process of a group. Trials without a group cannot have it."""

    seen_by: tuple[str, ...] = ("client", "broker")
    params: tuple[FaultParam, ...] = (MEMBER,)
    modes = BOTH_MODES
    of_members = True

    def members(self, lane: LiveLane) -> Members:
        """Return the group's processes."""
        assert lane.members is not None  # harness/planning/validate_group
        return lane.members

    def simulated(self, lane: SimulatedLane) -> SimulatedMembers:
        """Return the group's processes in simulated mode."""
        return lane.members[0]

    def chosen(self, spec: FaultSpec, alive: tuple[str, ...]) -> str:
        """Return the process on which the fault acts. It is the last one if there are fewer than ``member``."""
        if not alive:
            raise KafkaTrialError(
                "group-without-members", "fault {fault} needs a member, and none lives", fault=self.name
            )
        return alive[min(self.values(spec)["member"], len(alive)) - 1]

    def hold(self, spec: FaultSpec, members: Members | SimulatedMembers, process: str) -> None:
        """Note the process on which the fault acts."""
        members.held[toxic_name(spec)] = process

    def release(self, spec: FaultSpec, members: Members | SimulatedMembers) -> str | None:
        """Return the process on which the fault acted, once."""
        return members.held.pop(toxic_name(spec), None)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the fault itself: it acts on a process, not on frames."""
        return int(row.effective_ns is not None)

    def effects(self, row: FaultRow, evidence: Evidence) -> int | None:
        """See ``shown_by``."""
        raise NotImplementedError
