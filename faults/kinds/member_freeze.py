"""A member's process is stopped for a while: its connections stay open, and it does nothing.

## What it does
The process of one member gets SIGSTOP, and SIGCONT at the fault's end.

## What it probes
A pause longer than the session timeout, such as that of a collector or a suspended machine: the coordinator gives its
partitions away, and the member must notice this before it delivers or commits anything more. A member that goes on as
if nothing had happened is a zombie.

## How it is made
The harness stops and continues all processes that the client has started.

## Where it is seen
The process misses its heartbeats (``stats``). The coordinator removes the member after the session timeout.

## What it cannot do
A pause shorter than the session timeout is only slowness.
"""

from __future__ import annotations

from faults.effects import members
from faults.member_fault import Group, MemberFault
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind


class MemberFreeze(MemberFault):
    """The fault kind ``member_freeze``."""

    name = "member_freeze"
    summary = "a member's process is stopped, and continued at the end"
    shown_by = "heartbeats were missed by stopped processes"

    async def act(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Stop the process."""
        await group.members.freeze(process)

    async def undo(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Continue it."""
        await group.members.thaw(process)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return members.frozen(row, evidence)


FAULT: FaultKind = MemberFreeze()
