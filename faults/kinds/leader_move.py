"""Partitions change their leader.

## What it does
When the fault begins, every partition of the topic that one of its brokers leads moves to the next broker, in a new
leader epoch. It stays there. With a single broker nothing happens.

## What it probes
Whether the client learns who leads now: from the error, from the leader hint beside it (KIP-951) or from Metadata.
Whether it keeps the order of its batches while it moves them to another connection. Whether it mistakes old metadata
for new.

## How it is made
In live mode a reassignment makes another replica the preferred one, and an election follows. The move is done when the
new leader leads. Brokers learn of it one after the other. In simulated mode the scripted brokers elect at once, and all
of them know it at once. Followers that are in sync have everything, so nothing is lost.

## Where it is seen
The old leader answers Produce with NOT_LEADER_OR_FOLLOWER. A hit is such a response that passes the witness during the
fault.

## What it cannot do
It cannot leave some brokers with old metadata, or lose what was not replicated (for that a follower must be paused
first).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kio.schema.errors import ErrorCode

from faults.broker_fault import BrokerFault, errors, live_nodes, nodes, partitions
from faults.effects import aftermath, frames
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.cluster import Cluster
from harness.plugins.fault import FaultKind, LiveLane
from harness.simulated.lane import SimulatedLane

#: The answers of a broker that does not lead a partition, or not in the epoch that the client names.
OF_LEADERS = (
    ErrorCode.not_leader_or_follower,
    ErrorCode.fenced_leader_epoch,
    ErrorCode.unknown_leader_epoch,
)


async def move_on(cluster: Cluster, topic: str, node_ids: Collection[int]) -> None:
    """Move each partition of ``topic`` that one of ``node_ids`` leads to the next broker that is up."""
    alive = sorted(cluster.up)
    for partition in await cluster.partitions(topic) if len(alive) > 1 else ():
        leader = await cluster.leader(topic, partition)
        if leader in node_ids and leader in alive:
            following = alive[(alive.index(leader) + 1) % len(alive)]
            await cluster.alterations.move_leader(topic, partition, following)


class LeaderMove(BrokerFault):
    """The fault kind ``leader_move``."""

    name = "leader_move"
    summary = "partitions go to another leader, in a new epoch, and stay there"
    seen_by = ("witness",)
    lingers_s = 0.0
    shown_by = "answers reported another leader or epoch, or partitions continued at another broker"

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Move the leaders."""
        await move_on(lane.cluster, lane.topic, live_nodes(spec, lane))

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Move the leaders."""
        cluster = lane.cluster
        alive = [node for node in cluster.node_ids if cluster.accepts(node)]
        for partition in partitions(lane):
            leader, _ = cluster.leader(lane.topic, partition)
            if leader in nodes(spec, lane) and leader in alive and len(alive) > 1:
                following = alive[(alive.index(leader) + 1) % len(alive)]
                cluster.move_leader(lane.topic, partition, following, lane.now_ns)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the responses of brokers that are no longer the leader."""
        return errors(row, frames, (ErrorCode.not_leader_or_follower,))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        refused = frames.told(row, evidence, OF_LEADERS)
        return refused + aftermath.moved(row, evidence)


FAULT: FaultKind = LeaderMove()
