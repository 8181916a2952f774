"""A broker's process is killed, and started again when the fault ends.

## What it does
When the fault begins, its brokers are killed. Their connections end, and new connections fail. In-sync replicas take
over the partitions that they led, in a new leader epoch. A partition without another in-sync replica has no leader
until the broker is back. At the end the brokers start again with their logs, and catch up at once.

## What it probes
Moving to another leader and back, metadata from the brokers that are left, LEADER_NOT_AVAILABLE, and batches that were
appended but never answered.

## How it is made
In live mode the broker's process gets SIGKILL. The proxies are disabled meanwhile, so that connections are refused, as
on a host whose process has ended (a proxy alone would accept and hang up). The broker restarts on the data that it had
once the controller has noticed its end. In simulated mode the scripted broker closes its connections and accepts no new
ones, and the controller knows at once.

## Where it is seen
At the witness, the broker closes its connections, including those that are opened meanwhile. A hit is a connection that
the broker closed.

## What it cannot do
It cannot lose a log, or elect a replica that is out of sync.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.broker_down import bring_back, downs, hung_up, take_down
from faults.broker_fault import BrokerFault, nodes
from faults.effects import cuts
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, LiveLane, toxic_name
from harness.simulated.lane import SimulatedLane


class BrokerKill(BrokerFault):
    """The fault kind ``broker_kill``."""

    name = "broker_kill"
    summary = "brokers are killed, their partitions move to others, and at the end they are restarted"
    seen_by = ("witness", "broker")
    lingers_s = 0.0
    starts_nodes = True
    shown_by = "connections ended together with all others to their broker, or as soon as they were made"

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Kill the brokers and refuse connections to them."""
        await take_down(spec, lane, lane.cluster.kill)

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Start the brokers that are down, and accept connections again."""
        await bring_back(spec, lane)

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Kill the brokers."""
        for node_id in nodes(spec, lane):
            downs(lane, node_id).add(toxic_name(spec), True)
            lane.cluster.kill(node_id, lane.now_ns)

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Start the brokers again."""
        for node_id in nodes(spec, lane):
            if not downs(lane, node_id).drop(toxic_name(spec)) and not lane.cluster.accepts(node_id):
                lane.cluster.restart(node_id, lane.now_ns)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the connections that the broker's side closed."""
        return hung_up(row, frames)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return cuts.ended_together(row, evidence) + cuts.without_answer(row, evidence)


FAULT: FaultKind = BrokerKill()
