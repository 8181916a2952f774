"""Requests are sent, and never arrive.

## What it does
For the duration of the fault every byte of every request is discarded, on open connections and on new ones, which can
still be made. At its end all connections are closed, because each stream has a gap.

## What it probes
The counterpart of ``dropped_response``: the client sees the same silence, but nothing was applied. A client that
confuses the two either loses records or reports false failures.

## How it is made
The bytes are discarded before they reach the witness. In live mode a ``timeout`` toxic with timeout 0 upstream does
that. It never slows a client down, however much it sends. Toxiproxy closes every connection when the toxic is removed.

## Where it is seen
The client sees silence, then the end of the connection. The witness sees no request, and cannot know that one was sent.
In live mode a hit is therefore a connection that ended from the client's side during the fault or at its end,
whether or not anything was lost on it. In simulated mode a hit is a piece of data that was discarded.

## What it cannot do
It cannot drop one request and let the next one through (``dropped_frame`` does that). A request that is in flight when
the fault begins may be torn.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.effects import waits
from faults.kind import cut
from faults.swallow import let_through, swallow
from harness.model.evidence import Evidence
from harness.model.mode import BOTH_MODES
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import Fault, FaultKind, LiveLane, each, toxic_name
from harness.simulated.lane import SimulatedLane


class DroppedRequest(Fault):
    """The fault kind ``dropped_request``."""

    name = "dropped_request"
    summary = "requests are discarded in transit; then the connections are closed"
    seen_by = ("client", "witness")
    shown_by = "records were sent, and no request with them reached a broker before the fault ended"
    modes = BOTH_MODES

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Discard requests."""
        await each(lane.on(spec), lambda proxy: swallow(proxy, toxic_name(spec), "upstream"))

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Close the connections, and let requests through again."""
        await each(lane.on(spec), lambda proxy: let_through(proxy, toxic_name(spec)))

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Discard requests."""
        for proxy in lane.on(spec):
            proxy.up.silence(toxic_name(spec))

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Close the connections, and let requests through again."""
        for proxy in lane.on(spec):
            if proxy.up.restore(toxic_name(spec)):
                proxy.cut()

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the connections that ended."""
        return sum(1 for _ in cut(row, frames))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return waits.held_up(row, evidence, unsent=True)

    def simulated_hits(self, row: FaultRow, frames: Sequence[Frame], lane: SimulatedLane) -> int:
        """Count the pieces of data that were discarded."""
        return lane.touched(toxic_name(row.spec))


FAULT: FaultKind = DroppedRequest()
