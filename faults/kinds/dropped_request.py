"""Requests are sent, and never arrive.

## What it does
For the duration of the fault every byte of every request is thrown away, on open connections and on new ones, which
can still be made. At its end all connections are closed, for there is a hole in each stream.

## What it probes
The counterpart of ``dropped_response``: the client sees the same silence, but here nothing was applied. Whoever
takes the one for the other either loses records or reports failures that are none.

## How it is made
The bytes are swallowed in front of the witness; in the live world by a ``timeout`` toxic with timeout 0 upstream. A
client is never held back by it, however much it sends. Removing it makes Toxiproxy close every connection.

## Where it is seen
The client sees silence, then the end of the connection. The witness sees no request, and cannot see that there was
one. In the live world a hit is therefore a connection that ended from the client's side during the fault or by its
end, whether or not anything was lost on it. In the simulated world it is a piece of data that was swallowed.

## What it cannot do
Drop one request and let the next one through (that is ``dropped_frame``). A request that is under way when the fault
begins may be torn.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.effects import waits
from faults.kind import BOTH_WORLDS, Fault, cut, each, toxic_name
from faults.swallow import let_through, swallow
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, LiveLane
from harness.simulated.lane import SimulatedLane


class DroppedRequest(Fault):
    """The fault kind ``dropped_request``."""

    name = "dropped_request"
    summary = "requests are thrown away on their way; then the connections are closed"
    shown_by = "records were called, and no request with them came to a broker before it was over"
    worlds = BOTH_WORLDS

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Throw requests away."""
        await each(lane.on(spec), lambda proxy: swallow(proxy, toxic_name(spec), "upstream"))

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Close the connections, and let requests through again."""
        await each(lane.on(spec), lambda proxy: let_through(proxy, toxic_name(spec)))

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Throw requests away."""
        for proxy in lane.on(spec):
            proxy.up.silence(toxic_name(spec))

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Close the connections, and let requests through again."""
        for proxy in lane.on(spec):
            if proxy.up.restore(toxic_name(spec)):
                proxy.cut()

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Connections that ended."""
        return sum(1 for _ in cut(row, frames))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return waits.held_up(row, evidence, unsent=True)

    def simulated_hits(self, row: FaultRow, frames: Sequence[Frame], lane: SimulatedLane) -> int:
        """Pieces of data that were swallowed."""
        return lane.touched(toxic_name(row.spec))


FAULT: FaultKind = DroppedRequest()
