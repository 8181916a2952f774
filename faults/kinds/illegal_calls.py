"""A member's application makes calls that its client should refuse.

## What it does
When the fault begins, one member tries to assign itself all partitions, although it is subscribed. Then it
unsubscribes, tries to poll, and subscribes again.

## What it probes
Java's consumer refuses these calls as an illegal state, and nothing changes by them. What another client makes of them
must not lose a record either.

## How it is made
The harness sends ``attempt``, ``unsubscribe``, ``attempt`` again, and the first command of the member.

## Where it is seen
The end of each attempt says whether the client has refused it.

## What it cannot do
It cannot try to subscribe while partitions are assigned by hand: what some clients make of that outlives the fault. A
client whose adapter does not pass on such calls as they are reports that it does not support them.
"""

from __future__ import annotations

from faults.effects import members
from faults.member_fault import Group, MemberFault
from harness.model.consumer_contract import Attempt, Position, Unsubscribe
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind


class IllegalCalls(MemberFault):
    """The fault kind ``illegal_calls``."""

    name = "illegal_calls"
    summary = "a member makes calls that its client should refuse"
    shown_by = "attempts ended"
    seen_by: tuple[str, ...] = ("client",)

    async def act(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Make the calls, and subscribe again. The fault has no end."""
        places = [Position(group.topic, partition, -1) for partition in range(group.partitions)]
        for command in (Attempt(0, "assign", places), Unsubscribe(0), Attempt(0, "poll")):
            await group.members.call(process, command)
        await group.members.renew(process)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return members.attempted(row, evidence)


FAULT: FaultKind = IllegalCalls()
