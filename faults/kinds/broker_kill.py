"""A broker's process is killed, and started again at the end.

## What it does
When the fault begins its brokers are gone: their connections end, new ones come to nothing. What they led goes to
in-sync replicas, in a new leader epoch; where there is none it has no leader until the broker is back. At the end
they start again with their logs, and catch up at once.

## What it probes
The way to another leader and back, metadata from who is left, LEADER_NOT_AVAILABLE, and batches that were appended
and never answered.

## How it is made
In the live world by SIGKILL; the proxies are disabled meanwhile, so that connections are refused as by a host whose
process is gone (a proxy alone would accept and hang up). The broker comes back on the data that it had, which takes
until the controller has noticed its death. In the simulated world the scripted broker hangs up and no longer accepts,
and the controller knows at once.

## Where it is seen
At the witness the broker closes its connections, and those that are opened meanwhile: a hit is such an end.

## What it cannot do
Lose a log, or elect a replica that is out of sync.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.broker_down import bring_back, downs, hung_up, take_down
from faults.broker_fault import BrokerFault, nodes
from faults.effects import cuts
from faults.kind import toxic_name
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, LiveLane
from harness.simulated.lane import SimulatedLane


class BrokerKill(BrokerFault):
    """The fault kind ``broker_kill``."""

    name = "broker_kill"
    summary = "brokers are killed; their partitions go elsewhere; at the end they are back"
    lingers_s = 0.0
    starts_nodes = True
    shown_by = "connections ended, with all of their broker, or as soon as they were made"

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Kill them, and refuse."""
        await take_down(spec, lane, lane.cluster.kill)

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Start what is down, and accept again."""
        await bring_back(spec, lane)

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Kill them."""
        for node_id in nodes(spec, lane):
            downs(lane, node_id).add(toxic_name(spec), True)
            lane.cluster.kill(node_id, lane.now_ns)

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Start them again."""
        for node_id in nodes(spec, lane):
            if not downs(lane, node_id).drop(toxic_name(spec)) and not lane.cluster.accepts(node_id):
                lane.cluster.restart(node_id, lane.now_ns)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Connections that the broker's end closed."""
        return hung_up(row, frames)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return cuts.ended_together(row, evidence) + cuts.without_answer(row, evidence)


FAULT: FaultKind = BrokerKill()
