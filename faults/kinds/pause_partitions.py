"""A member's application pauses its partitions, and resumes them later.

## What it does
For the duration of the fault one member pauses all partitions of the topic, and then resumes them. It polls
meanwhile.

## What it probes
A paused partition returns no record, and its position stays. Records that were fetched before the pause must not be
lost, and the member stays in the group.

## How it is made
The harness sends ``pause`` and ``resume`` to the member, for one partition after the other: the calls for those that
the member does not own fail.

## Where it is seen
Records wait until the fault ends. The witness may see no Fetch request meanwhile.

## What it cannot do
A rebalance during the fault may resume the partitions, since a pause belongs to an assignment.
"""

from __future__ import annotations

from faults.effects import members
from faults.member_fault import Group, MemberFault
from harness.model.consumer_contract import Pause, Place, Resume
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind


class PausePartitions(MemberFault):
    """The fault kind ``pause_partitions``."""

    name = "pause_partitions"
    summary = "a member pauses its partitions, and resumes them at the end"
    shown_by = "records were delivered only after the partitions were resumed"

    async def act(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Pause them."""
        for place in _places(group):
            await group.members.call(process, Pause(0, [place]))

    async def undo(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Resume them."""
        if process in group.members.processes:
            for place in _places(group):
                await group.members.call(process, Resume(0, [place]))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return members.withheld(row, evidence)


def _places(group: Group) -> list[Place]:
    return [Place(group.topic, partition) for partition in range(group.partitions)]


FAULT: FaultKind = PausePartitions()
