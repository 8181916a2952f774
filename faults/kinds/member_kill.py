"""A member's process dies, and a successor takes its place later.

## What it does
The process of one member is killed (SIGKILL): it neither commits nor leaves. At the fault's end another process of
the same client joins in its place.

## What it probes
Everything that was processed and not committed must be delivered again, to the next owner of its partitions, and
nothing may be skipped. Until the session timeout the coordinator takes the member for alive, so no other member reads
its partitions.

## How it is made
The harness kills the process and all that it has started. For a static member the successor has the same instance id.

## Where it is seen
The history of the process breaks off with ``member_killed``. The witness sees its connections end.

## What it cannot do
It cannot choose the instruction at which the process dies.
"""

from __future__ import annotations

from faults.effects import members
from faults.member_fault import MemberFault
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, LiveLane
from harness.simulated.lane import SimulatedLane


class MemberKill(MemberFault):
    """The fault kind ``member_kill``."""

    name = "member_kill"
    summary = "a member's process is killed, and a successor joins at the end"
    shown_by = "processes were killed"

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Kill the process."""
        members = self.members(lane)
        process = self.chosen(spec, members.processes)
        self.hold(spec, members, process)
        await members.kill(process)

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Start its successor."""
        members = self.members(lane)
        if (process := self.release(spec, members)) is not None:
            await members.join(process.partition("-")[0])

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Kill the process."""
        members = self.simulated(lane)
        process = self.chosen(spec, members.processes)
        self.hold(spec, members, process)
        members.kill(process)

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Start its successor."""
        members = self.simulated(lane)
        if (process := self.release(spec, members)) is not None:
            members.join(process.partition("-")[0])

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return members.killed(row, evidence)


FAULT: FaultKind = MemberKill()
