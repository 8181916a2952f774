"""The broker answers, and the responses never arrive.

## What it does
For the duration of the fault requests reach the broker and are applied, and every byte of every response is discarded.
At its end all connections are closed. A client with a shorter request timeout has closed them before.

## What it probes
The difference between at-least-once and exactly-once: the client must send again what the broker has already applied.
Without idempotence the log holds it twice. With idempotence the broker recognizes the sequence numbers and answers the
second request without appending. Request timeouts also show here.

## How it is made
The lane has a ``timeout`` toxic with timeout 0 downstream, on open and on later connections. It reads, acknowledges at
the level of TCP, and discards. When it is removed, Toxiproxy closes every connection of the proxy, so that no
connection with a gap in its stream stays open. The listener stays open, so that a client that reconnects at once is not
refused.

## Where it is seen
The client sees silence, then the end of the connection. At the witness the responses pass as if nothing were wrong. A
hit is a response that passed the witness during the fault.

## What it cannot do
It cannot drop one response and let the next one through, or drop whole frames only (the first response may be torn if
the fault begins in the middle of it). Connections opened during the fault are as silent as the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.effects import frames
from faults.swallow import let_through, swallow
from harness.model.evidence import Evidence
from harness.model.mode import BOTH_MODES
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import Fault, FaultKind, LiveLane, each, passed, toxic_name
from harness.simulated.lane import SimulatedLane


class DroppedResponse(Fault):
    """The fault kind ``dropped_response``."""

    name = "dropped_response"
    summary = "requests are applied and their responses discarded; then the connections are closed"
    seen_by = ("client", "witness")
    shown_by = "answers passed, and the client did without them"
    modes = BOTH_MODES

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Discard responses."""
        await each(lane.on(spec), lambda proxy: swallow(proxy, toxic_name(spec), "downstream"))

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Close the connections, and let responses through again."""
        await each(lane.on(spec), lambda proxy: let_through(proxy, toxic_name(spec)))

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Discard responses."""
        for proxy in lane.on(spec):
            proxy.down.silence(toxic_name(spec))

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Close the connections, and let responses through again."""
        for proxy in lane.on(spec):
            if proxy.down.restore(toxic_name(spec)):
                proxy.cut()

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the responses that were discarded."""
        return sum(1 for _ in passed(row, frames, (FrameKind.RESPONSE,)))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return frames.unheard(row, evidence)


FAULT: FaultKind = DroppedResponse()
