"""A broker is shut down in good order, and started again at the end.

## What it does
When the fault begins its brokers hand over what they lead and end. Connections to them are refused until they are back
on the data that they had. With ``one_by_one`` each is back, and every replica of the topic in sync, before the next one
goes, and the fault is over when all were.

## What it probes
What every upgrade does to a client: NOT_LEADER_OR_FOLLOWER from a broker that is going, its connections closed with
requests on them, and the way back. One by one it is the rolling restart of an upgrade.

## How it is made
By SIGTERM, which starts Kafka's controlled shutdown; the proxies are disabled meanwhile, so that connections are
refused as by a host whose process is gone. The start is waited for until every listener is ready; one by one, also
until every broker says that the replicas are in sync.

## Where it is seen
At the witness the broker closes its connections: a hit is such an end.

## What it cannot do
Change the broker's version on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from faults.broker_down import bring_back, hung_up, take_down
from faults.broker_fault import live_nodes
from faults.effects import cuts
from faults.kind import Fault
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam, LiveLane


class BrokerRestart(Fault):
    """The fault kind ``broker_restart``."""

    name = "broker_restart"
    alone = True
    summary = "brokers are shut down in good order; at the end they are back"
    lingers_s = 0.0
    starts_nodes = True
    shown_by = "connections ended, with all of their broker, or as soon as they were made"
    params: tuple[FaultParam, ...] = (
        FaultParam("one_by_one", 0, 0, 1, "1: each is back, and in sync, before the next one goes"),
    )

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Shut them down, and refuse."""
        for part in self._turns(spec, lane):
            await take_down(part, lane, lane.cluster.stop)
            if part is not spec:
                await bring_back(part, lane)
                await lane.cluster.in_sync(lane.topic)

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Start what is down, and accept again."""
        for part in self._turns(spec, lane):
            await bring_back(part, lane)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Connections that the broker's end closed."""
        return hung_up(row, frames)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return cuts.ended_together(row, evidence) + cuts.without_answer(row, evidence)

    def _turns(self, spec: FaultSpec, lane: LiveLane) -> Iterator[FaultSpec]:
        """All at once, or a fault on one broker after the other."""
        if not self.values(spec)["one_by_one"]:
            yield spec
            return
        for node_id in live_nodes(spec, lane):
            yield replace(spec, brokers=(node_id,), params={})


FAULT: FaultKind = BrokerRestart()
