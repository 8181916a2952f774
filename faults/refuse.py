"""Nobody listens at the brokers' addresses.

## What it does
For the duration of the fault every attempt to connect is refused. Connections that were open end when it begins.

## What it probes
The client's way back: back-off between attempts, giving up on records whose delivery timeout passes meanwhile, and
finding the cluster again afterwards instead of staying away for ever.

## How it is made
The proxy is disabled for the duration, as in ``disconnect``; what differs is what the scenario means by it: there the
cut, here the time after it.

## Where it is seen
The client sees ``ECONNREFUSED``. A refused attempt never reaches the witness; what it sees are the connections that
end when the fault begins: a hit is such a connection.

## What it cannot do
Refuse new connections and leave the open ones alone; let an attempt time out instead (the address would have to
swallow SYNs).
"""

from __future__ import annotations

from collections.abc import Sequence

from faults import listener
from faults.kind import BOTH_WORLDS, Fault, cut, each, toxic_name
from harness.lane import LiveLane
from harness.ports import FaultKind
from harness.rows import FaultRow, Frame
from harness.simulated.lane import SimulatedLane
from harness.spec import FaultSpec


class Refuse(Fault):
    """The fault kind ``refuse``."""

    name = "refuse"
    summary = "connections are refused for the duration, and open ones end"
    worlds = BOTH_WORLDS

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Refuse."""
        await each(lane.on(spec), lambda proxy: listener.close(proxy, toxic_name(spec)))

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Accept again."""
        await each(lane.on(spec), lambda proxy: listener.reopen(proxy, toxic_name(spec)))

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Refuse."""
        for proxy in lane.on(spec):
            proxy.refuse(toxic_name(spec))
            proxy.cut()

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Accept again."""
        for proxy in lane.on(spec):
            proxy.accept(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Connections that ended."""
        return sum(1 for _ in cut(row, frames))


FAULT: FaultKind = Refuse()
