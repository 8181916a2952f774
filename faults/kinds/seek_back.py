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

from faults.broker_fault import partitions
from faults.effects import members
from faults.member_fault import MemberFault
from harness.model.consumer_contract import EARLIEST, Position, Seek
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, LiveLane
from harness.simulated.lane import SimulatedLane


class SeekBack(MemberFault):
    """The fault kind ``seek_back``."""

    name = "seek_back"
    summary = "a member goes back to the beginning of its partitions"
    shown_by = "records were delivered to their member again"

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Seek the beginnings."""
        members = self.members(lane)
        process = self.chosen(spec, members.processes)
        for partition in range(lane.partitions):
            await members.call(process, Seek(0, Position(lane.topic, partition, EARLIEST)))

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Do nothing: a seek has no end."""

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Seek the beginnings."""
        members = self.simulated(lane)
        process = self.chosen(spec, members.processes)
        for partition in partitions(lane):
            members.call(process, Seek(0, Position(lane.topic, partition, EARLIEST)))

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Do nothing: a seek has no end."""

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return members.read_again(row, evidence)


FAULT: FaultKind = SeekBack()
