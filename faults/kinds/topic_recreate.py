"""The topic is deleted, and created again under the same name.

## What it does
When the fault begins, the topic is deleted with all its records, for every broker at once. When it ends, there is a
topic with the same name, partitions and settings, but with another topic id, empty, and in leader epoch 0.

## What it probes
UNKNOWN_TOPIC_OR_PARTITION and UNKNOWN_TOPIC_ID while the topic does not exist. Afterwards, whether the client confuses
the new topic with the old one: by its id, by leader epochs that are lower than before, by sequences that continue in an
empty log.

## How it is made
The fault deletes and creates the topic: through the controller in live mode, in the scripted cluster in simulated mode.

## Where it is seen
At the witness: a hit is a response during the fault that says that there is no such topic, by name or by id.

## What it cannot do
It cannot delete the topic on all brokers at the same moment: a real broker may learn of it some milliseconds later than
another. What was in the log is lost for consumers; evidence that is to distinguish this from a loss must include the
deleted records.
"""

from __future__ import annotations

from collections.abc import Sequence

from kio.schema.errors import ErrorCode

from faults.broker_fault import BrokerFault, errors
from faults.effects import frames
from faults.wanted import Wanted, wanted
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, LiveLane, toxic_name
from harness.simulated.lane import SimulatedLane


class TopicRecreate(BrokerFault):
    """The fault kind ``topic_recreate``."""

    name = "topic_recreate"
    summary = "the topic is deleted, and a new one of the same name is created at the end"
    seen_by = ("witness",)
    lingers_s = 0.0
    shown_by = "answers reported that there is no such topic"

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Delete the topic."""
        await _absences(lane).put(
            toxic_name(spec), True, lambda _: lane.cluster.alterations.delete_topic(lane.topic)
        )

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Create the topic again."""
        await _absences(lane).take_back(toxic_name(spec), lambda is_absent: _create(lane, is_absent))

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Delete the topic."""
        _absences(lane).add(toxic_name(spec), True)
        if lane.cluster.has_topic(lane.topic):
            lane.cluster.delete_topic(lane.topic)

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Create the topic again."""
        if not _absences(lane).drop(toxic_name(spec)) and not lane.cluster.has_topic(lane.topic):
            lane.cluster.recreate_topic(lane.topic)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the responses that say that there is no such topic."""
        return errors(row, frames, (ErrorCode.unknown_topic_or_partition, ErrorCode.unknown_topic_id))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        codes = (ErrorCode.unknown_topic_or_partition, ErrorCode.unknown_topic_id)
        return frames.told(row, evidence, codes)


def _absences(lane: LiveLane | SimulatedLane) -> Wanted[bool]:
    return wanted(lane.cluster, ("absent", lane.topic))


async def _create(lane: LiveLane, is_absent: bool | None) -> None:
    if not is_absent and not await lane.cluster.partitions(lane.topic):
        await lane.cluster.create_topic(lane.topic, lane.partitions)


FAULT: FaultKind = TopicRecreate()
