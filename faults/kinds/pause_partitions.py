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

from faults.broker_fault import partitions
from faults.effects import members
from faults.member_fault import MemberFault
from harness.model.consumer_contract import Pause, Place, Resume
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, LiveLane
from harness.simulated.lane import SimulatedLane


class PausePartitions(MemberFault):
    """The fault kind ``pause_partitions``."""

    name = "pause_partitions"
    summary = "a member pauses its partitions, and resumes them at the end"
    shown_by = "records were delivered only after the partitions were resumed"

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Pause them."""
        members = self.members(lane)
        process = self.chosen(spec, members.processes)
        self.hold(spec, members, process)
        for place in _places(lane):
            await members.call(process, Pause(0, [place]))

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Resume them."""
        members = self.members(lane)
        process = self.release(spec, members)
        if process is not None and process in members.processes:
            for place in _places(lane):
                await members.call(process, Resume(0, [place]))

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Pause them."""
        members = self.simulated(lane)
        process = self.chosen(spec, members.processes)
        self.hold(spec, members, process)
        for place in _simulated_places(lane):
            members.call(process, Pause(0, [place]))

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Resume them."""
        members = self.simulated(lane)
        process = self.release(spec, members)
        if process is not None and process in members.processes:
            for place in _simulated_places(lane):
                members.call(process, Resume(0, [place]))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return members.withheld(row, evidence)


def _places(lane: LiveLane) -> list[Place]:
    return [Place(lane.topic, partition) for partition in range(lane.partitions)]


def _simulated_places(lane: SimulatedLane) -> list[Place]:
    return [Place(lane.topic, partition) for partition in partitions(lane)]


FAULT: FaultKind = PausePartitions()
