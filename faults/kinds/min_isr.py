"""Followers fall behind, and too few replicas are in sync.

## What it does
For the duration its brokers are out of the ISR of every partition that they follow. If fewer replicas are left than
``min.insync.replicas`` requires, acks=all is refused with NOT_ENOUGH_REPLICAS; other acks keep working. At the end the
brokers are in sync again. With a single replica nothing happens.

## What it probes
Whether the client retries what certainly was not appended, for as long as its delivery timeout allows, and keeps its
order.

## How it is made
In live mode ``min.insync.replicas`` of the topic is set to the number of its replicas, the brokers are shut down
cleanly, and their proxies are disabled; at the end the brokers start again. In simulated mode the scripted
controller removes them from the ISR.

## Where it is seen
At the witness: a hit is a response with NOT_ENOUGH_REPLICAS, or with NOT_ENOUGH_REPLICAS_AFTER_APPEND, during the
fault.

## What it cannot do
It cannot make the leader itself fall behind; the leader goes on alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from kio.schema.errors import ErrorCode
from msgspec.structs import replace

from faults.broker_down import bring_back, take_down
from faults.broker_fault import BrokerFault, errors, nodes
from faults.effects import frames
from faults.wanted import wanted
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, LiveLane, toxic_name
from harness.simulated.lane import SimulatedLane

LIMIT = "min.insync.replicas"


class MinIsr(BrokerFault):
    """The fault kind ``min_isr``."""

    name = "min_isr"
    summary = "followers fall out of the ISR, and acks=all is refused"
    seen_by = ("witness",)
    lingers_s = 0.0
    starts_nodes = True
    shown_by = "answers reported too few replicas"

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Require all replicas, and shut some brokers down."""
        if len(lane.cluster.node_ids) == 1:
            return
        await wanted(lane.cluster, (LIMIT, lane.topic)).put(
            toxic_name(spec), str(len(lane.cluster.node_ids)), lambda least: _alter(lane, least)
        )
        await take_down(spec, lane, lane.cluster.stop)

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Bring all replicas back, and restore the old requirement."""
        await bring_back(spec, lane)
        await wanted(lane.cluster, (LIMIT, lane.topic)).take_back(
            toxic_name(spec), lambda least: _alter(lane, least)
        )

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Remove the brokers from the ISR."""
        for node_id in nodes(spec, lane):
            wanted(lane.cluster, ("behind", node_id)).add(toxic_name(spec), True)
            lane.cluster.drop_from_isr(node_id)

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Return the brokers to the ISR."""
        for node_id in nodes(spec, lane):
            if not wanted(lane.cluster, ("behind", node_id)).drop(toxic_name(spec)):
                lane.cluster.return_to_isr(node_id)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the responses that report too few replicas. The leaders send them, whichever broker fell behind."""
        codes = (ErrorCode.not_enough_replicas, ErrorCode.not_enough_replicas_after_append)
        anywhere = replace(row, spec=replace(row.spec, brokers=()))
        return errors(anywhere, frames, codes)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        codes = (ErrorCode.not_enough_replicas, ErrorCode.not_enough_replicas_after_append)
        return frames.told(row, evidence, codes, anywhere=True)


async def _alter(lane: LiveLane, least: str | None) -> None:
    await lane.cluster.alterations.alter_topic(lane.topic, LIMIT, least)


FAULT: FaultKind = MinIsr()
