"""A member's application goes back to the beginning of its partitions.

## What it does
When the fault begins, one member seeks the beginning of every partition of the topic.

## What it probes
A seek sets the position at once: no record that was fetched for the old position may follow it, every record is
delivered again in order, and commits name the new position.

## How it is made
The harness sends ``seek`` with the special offset -2 to the member. Partitions that it does not own make the call fail,
so this is for a member that reads alone.

## Where it is seen
The member reports records again that it had reported. The witness sees ListOffsets and Fetch requests.

## What it cannot do
It cannot reach a member whose partitions have nothing in them.
"""

from __future__ import annotations

from faults.effects import members
from faults.member_fault import Group, MemberFault
from harness.model.consumer_contract import EARLIEST, Position, Seek
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind


class SeekBack(MemberFault):
    """The fault kind ``seek_back``."""

    name = "seek_back"
    summary = "a member goes back to the beginning of its partitions"
    shown_by = "records were delivered to their member again"

    async def act(self, spec: FaultSpec, group: Group, process: str) -> None:
        """Seek the beginnings. A seek has no end."""
        for partition in range(group.partitions):
            await group.members.call(process, Seek(0, Position(group.topic, partition, EARLIEST)))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return members.read_again(row, evidence)


FAULT: FaultKind = SeekBack()
