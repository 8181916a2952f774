"""A member closes, and a successor takes its place later.

## What it does
One member is told to close: it commits if it commits automatically, leaves the group and ends. At the fault's end
another process of the same client joins in its place.

## What it probes
An orderly end: the offsets of processed records are committed, partitions move at once instead of after the session
timeout, and nothing is delivered twice without a cause. A static member does not leave, and its successor gets its
partitions back.

## How it is made
The harness sends ``close`` and waits for the end of the process.

## Where it is seen
The process reports the end of its close, and the witness sees LeaveGroup.

## What it cannot do
A client that does not close in time is killed.
"""

from __future__ import annotations

from faults.effects import members
from faults.member_fault import LEAVE_MS, Group, MemberFault
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind
from harness.trial.group import place_of


class MemberLeave(MemberFault):
    """The fault kind ``member_leave``."""

    name = "member_leave"
    summary = "a member closes, and a successor joins at the end"
    shown_by = "members closed"

    async def act(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Close the member."""
        await group.members.leave(process, LEAVE_MS)

    async def undo(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Start its successor."""
        await group.members.join(place_of(process))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return members.closed(row, evidence)


FAULT: FaultKind = MemberLeave()
