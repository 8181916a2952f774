"""A broker is shut down in good order, and started again at the end.

## What it does
When the fault begins its brokers hand over what they lead and end. Connections to them are refused until they are back
on the data that they had.

## What it probes
What every upgrade does to a client: NOT_LEADER_OR_FOLLOWER from a broker that is going, its connections closed with
requests on them, and the way back. With one broker after another as a target, a rolling restart.

## How it is made
By SIGTERM, which starts Kafka's controlled shutdown; the proxies are disabled meanwhile, so that connections are
refused as by a host whose process is gone. The start is waited for until every listener is ready.

## Where it is seen
At the witness the broker closes its connections: a hit is such an end.

## What it cannot do
Change the broker's version on the way.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.broker_down import bring_back, hung_up, take_down
from faults.kind import Fault
from harness.lane import LiveLane
from harness.ports import FaultKind
from harness.rows import FaultRow, Frame
from harness.spec import FaultSpec


class BrokerRestart(Fault):
    """The fault kind ``broker_restart``."""

    name = "broker_restart"
    alone = True
    summary = "brokers are shut down in good order; at the end they are back"

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Shut them down, and refuse."""
        await take_down(spec, lane, lane.cluster.stop)

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Start what is down, and accept again."""
        await bring_back(spec, lane)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Connections that the broker's end closed."""
        return hung_up(row, frames)


FAULT: FaultKind = BrokerRestart()
