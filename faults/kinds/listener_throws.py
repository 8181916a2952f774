"""The application's rebalance listener throws an exception.

## What it does
From the beginning of the fault, the next ``times`` calls of one member's listener end with an exception: of
onPartitionsAssigned (``callback`` 0), onPartitionsRevoked (1) or onPartitionsLost (2). Calls that have not come by its
end return as before.

## What it probes
A listener is the application's code, so its failure must not break the group: the rebalance goes on, the exception
reaches the application from poll, and the member reads the partitions that it owns.

## How it is made
The harness sends ``throw`` to the member. A rebalance has to follow, so another fault must make one.

## Where it is seen
The member reports the exception that its application got.

## What it cannot do
It cannot act on a client without a listener, which reports that it does not support it.
"""

from __future__ import annotations

from faults.effects import members
from faults.member_fault import MEMBER, Group, MemberFault
from harness.model.consumer_contract import CALLBACKS, Throw
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam


class ListenerThrows(MemberFault):
    """The fault kind ``listener_throws``."""

    name = "listener_throws"
    summary = "the application's rebalance listener throws an exception"
    shown_by = "calls ended with an exception"
    seen_by: tuple[str, ...] = ("client",)
    params: tuple[FaultParam, ...] = (
        MEMBER,
        FaultParam("callback", 1, 0, len(CALLBACKS) - 1, "the callback: 0 assigned, 1 revoked, 2 lost"),
        FaultParam("times", 1, 1, 100, "how many calls"),
    )

    async def act(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Let its next calls throw."""
        await group.members.call(process, self._throw(spec, self.values(spec)["times"]))

    async def undo(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Let it return as before."""
        if process in group.members.processes:
            await group.members.call(process, self._throw(spec, 0))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return members.interrupted(row, evidence)

    def _throw(self, spec: FaultSpec, times: int) -> Throw:
        return Throw(0, CALLBACKS[self.values(spec)["callback"]], times)


FAULT: FaultKind = ListenerThrows()
