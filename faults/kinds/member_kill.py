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
from faults.member_fault import Group, MemberFault
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind
from harness.trial.group import place_of


class MemberKill(MemberFault):
    """The fault kind ``member_kill``."""

    name = "member_kill"
    summary = "a member's process is killed, and a successor joins at the end"
    shown_by = "processes were killed"

    async def act(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Kill the process."""
        await group.members.kill(process)

    async def undo(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Start its successor."""
        await group.members.join(place_of(process))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return members.killed(row, evidence)


FAULT: FaultKind = MemberKill()
