"""The topic gets more partitions.

## What it does
When the fault begins, the topic grows by ``partitions``. The new partitions are empty, are led by the brokers in turn,
and stay.

## What it probes
Whether the client finds the new partitions with its next metadata, spreads records without a key over them, and keeps
the records that it already has for the old ones in order.

## How it is made
The fault adds partitions through the controller in live mode, and in the scripted cluster in simulated mode.

## Where it is seen
The brokers announce the new partitions, and the client can first learn of them from a Metadata response. A hit is a
Metadata response that passes the witness during the fault, whatever it contains. That the topic grew shows at the
witness in the Produce requests for the new partitions.

## What it cannot do
It cannot keep each key in one partition: no client can do so when its topic grows.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.broker_fault import BrokerFault, responses
from faults.effects import aftermath
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.model.units import NS_PER_MS
from harness.plugins.fault import FaultKind, FaultParam, LiveLane
from harness.simulated.lane import SimulatedLane
from harness.wire.apis import Api

#: The default maximum age of a client's metadata, and how soon after that it has fresh metadata.
DEFAULT_MAX_AGE_MS, SOON_MS = 300_000, 1_000


class TopicGrowth(BrokerFault):
    """The fault kind ``topic_growth``."""

    name = "topic_growth"
    summary = "the topic gets more partitions"
    seen_by = ("client", "witness", "broker")
    lingers_s = 0.0
    shown_by = "batches went to the new partitions"
    params: tuple[FaultParam, ...] = (FaultParam("partitions", 1, 1, 100, "how many more"),)

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Add the partitions."""
        there = len(await lane.cluster.partitions(lane.topic))
        await lane.cluster.alterations.add_partitions(lane.topic, there + self.values(spec)["partitions"])

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Add the partitions."""
        cluster, more = lane.cluster, self.values(spec)["partitions"]
        if cluster.has_topic(lane.topic):
            cluster.add_partitions(lane.topic, cluster.partition_count(lane.topic) + more)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the Metadata responses during the fault; a client can learn of the growth from the first of them."""
        return sum(1 for _ in responses(row, frames, Api.METADATA))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        max_age_ms = int(evidence.record.spec.config.get("metadata.max.age.ms", DEFAULT_MAX_AGE_MS))
        return aftermath.new_partitions(row, evidence, (max_age_ms + SOON_MS) * NS_PER_MS)


FAULT: FaultKind = TopicGrowth()
