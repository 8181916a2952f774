"""A member's application works for a long time on what each poll returned.

## What it does
For the duration of the fault one member works ``processing_ms`` on the records of each turn, and then as before.

## What it probes
Heartbeats must not depend on the application: as long as it polls within max.poll.interval.ms, the member stays in
the group. Beyond that interval a dynamic member must leave by itself, lose its partitions and join again.

## How it is made
The harness sends ``process`` to the member.

## Where it is seen
The member reports its records later. With more than max.poll.interval.ms the witness sees LeaveGroup.

## What it cannot do
It does not keep the process from running; see ``member_freeze``.
"""

from __future__ import annotations

from faults.effects import members
from faults.member_fault import MEMBER, Group, MemberFault
from harness.model.consumer_contract import Process
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam


class SlowProcessing(MemberFault):
    """The fault kind ``slow_processing``."""

    name = "slow_processing"
    summary = "a member works for a long time on what each poll returned"
    shown_by = "turns took as long as the fault demands"
    seen_by: tuple[str, ...] = ("client",)
    params: tuple[FaultParam, ...] = (
        MEMBER,
        FaultParam("processing_ms", 1_000, 1, 60_000, "how long it works on each turn"),
    )

    async def act(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Let it work longer."""
        await group.members.call(process, Process(0, self.values(spec)["processing_ms"]))

    async def undo(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Let it work as before."""
        if process in group.members.processes:
            await group.members.call(process, Process(0, group.members.processing_ms))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return members.slow_turns(row, evidence, self.values(row.spec)["processing_ms"])


FAULT: FaultKind = SlowProcessing()
