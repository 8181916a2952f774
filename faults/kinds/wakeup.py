"""Another thread of the application interrupts a member's poll.

## What it does
When the fault begins, one member is woken up ``times`` times: each interrupts the poll that it is in, or its next one.
The application survives the exception and polls again.

## What it probes
An interrupted call must leave nothing half done: no record may be lost with the poll that ended early, no commit
may be forgotten, and the member stays in the group.

## How it is made
The harness sends ``wakeup`` to the member.

## Where it is seen
The member reports the exception that its application got.

## What it cannot do
It cannot choose the moment within a poll. A client without such a call reports that it does not support it.
"""

from __future__ import annotations

from faults.effects import members
from faults.member_fault import MEMBER, Group, MemberFault
from harness.model.consumer_contract import Wakeup
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam


class WakeupFault(MemberFault):
    """The fault kind ``wakeup``."""

    name = "wakeup"
    summary = "another thread of the application interrupts a member's poll"
    shown_by = "calls ended with an exception"
    seen_by: tuple[str, ...] = ("client",)
    params: tuple[FaultParam, ...] = (MEMBER, FaultParam("times", 1, 1, 100, "how often, one after another"))

    async def act(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Wake it up. A wakeup has no end."""
        for _ in range(self.values(spec)["times"]):
            await group.members.call(process, Wakeup(0))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return members.interrupted(row, evidence)


FAULT: FaultKind = WakeupFault()
