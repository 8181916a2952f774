"""A broker is shut down cleanly, and started again when the fault ends.

## What it does
When the fault begins, its brokers hand over the partitions that they lead and shut down. Connections to them are
refused until they are back on the data that they had. With ``one_by_one``, each broker is back and every replica of the
topic is in sync before the next broker shuts down. The fault ends when all of them have been restarted.

## What it probes
What every upgrade does to a client: NOT_LEADER_OR_FOLLOWER from a broker that is shutting down, connections that close
with requests in flight, and the way back. With ``one_by_one`` it is the rolling restart of an upgrade.

## How it is made
The broker's process gets SIGTERM, which starts Kafka's controlled shutdown. The proxies are disabled meanwhile, so that
connections are refused, as on a host whose process has ended. The fault waits until every listener of the restarted
broker is ready, and with ``one_by_one`` also until every broker reports that the replicas are in sync.

## Where it is seen
At the witness, the broker closes its connections. A hit is a connection that the broker closed.

## What it cannot do
It cannot change the broker's version during the restart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from faults.broker_down import bring_back, hung_up, take_down
from faults.broker_fault import live_nodes
from faults.effects import cuts
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import Fault, FaultKind, FaultParam, LiveLane


class BrokerRestart(Fault):
    """The fault kind ``broker_restart``."""

    name = "broker_restart"
    exclusive_cluster = True
    summary = "brokers are shut down cleanly, and restarted at the end"
    seen_by = ("witness", "broker")
    lingers_s = 0.0
    starts_nodes = True
    shown_by = "connections ended together with all others to their broker, or as soon as they were made"
    params: tuple[FaultParam, ...] = (
        FaultParam("one_by_one", 0, 0, 1, "1: each broker is back and in sync before the next one stops"),
    )

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Shut the brokers down and refuse connections to them."""
        for part in self._turns(spec, lane):
            await take_down(part, lane, lane.cluster.stop)
            if part is not spec:
                await bring_back(part, lane)
                await lane.cluster.in_sync(lane.topic)

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Start the brokers that are down, and accept connections again."""
        for part in self._turns(spec, lane):
            await bring_back(part, lane)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the connections that the broker's side closed."""
        return hung_up(row, frames)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return cuts.ended_together(row, evidence) + cuts.without_answer(row, evidence)

    def _turns(self, spec: FaultSpec, lane: LiveLane) -> Iterator[FaultSpec]:
        """Yield one fault for all brokers or, with ``one_by_one``, one fault per broker."""
        if not self.values(spec)["one_by_one"]:
            yield spec
            return
        for node_id in live_nodes(spec, lane):
            yield replace(spec, brokers=(node_id,), params={})


FAULT: FaultKind = BrokerRestart()
