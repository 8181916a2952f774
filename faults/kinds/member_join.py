"""Another member joins the group, and leaves it at the end.

## What it does
A new process of the same client starts, subscribes and reads. At the fault's end it closes in an orderly way.

## What it probes
Two rebalances under load. Members must give up partitions, commit what they have processed, and take them over
without skipping a record or delivering one twice without a cause. No partition may have two owners.

## How it is made
The harness starts the client's program once more, with the settings of the other members and its own client id.

## Where it is seen
The other members see a rebalance: a heartbeat answered with REBALANCE_IN_PROGRESS, or another target assignment. The
coordinator's log has the member.

## What it cannot do
It does not say which partitions move; the assignor does. The start of the process takes as long as it takes. The
duration counts from when it has subscribed.
"""

from __future__ import annotations

from faults.effects import members
from faults.member_fault import LEAVE_MS, Group, MemberFault
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam


class MemberJoin(MemberFault):
    """The fault kind ``member_join``."""

    name = "member_join"
    summary = "another member joins the group, and leaves it at the end"
    shown_by = "processes joined"
    begins_slowly = True
    params: tuple[FaultParam, ...] = ()

    async def target(self, spec: FaultSpec, group: Group) -> str:
        """Start a process, and let it subscribe."""
        return await group.members.join()

    async def undo(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Close it, unless another fault has ended it."""
        if process in group.members.processes:
            await group.members.leave(process, LEAVE_MS)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return members.started(row, evidence)


FAULT: FaultKind = MemberJoin()
