"""Every connection is cut, politely (FIN).

## What it does
All connections of the lane end at once, whatever is in flight on them. The listener stays closed for the duration of
the fault, which may be 0: then a client can come back immediately.

## What it probes
Requests whose fate the client cannot know: they may lie unread in a buffer, be applied and unanswered, or answered
and unread. An at-least-once producer has to send them again, an idempotent one under the same sequence numbers.

## How it is made
The proxy is disabled and, after the duration, enabled again. Nothing else closes connections that are idle and those
that are not at one known moment.

## Where it is seen
The client reads the end of the stream, and a refusal while the listener is closed. At the witness the connections
end from the client's side: a hit is a connection that did.

## What it cannot do
Choose one connection of several, or the byte at which it is cut. Where the proxy holds unread bytes of the client
(a request under way in that very moment), the system sends RST instead of FIN.
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


class Disconnect(Fault):
    """The fault kind ``disconnect``."""

    name = "disconnect"
    summary = "all connections end with FIN; the listener is back after the duration"
    worlds = BOTH_WORLDS

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Cut, and refuse."""
        await each(lane.on(spec), lambda proxy: listener.close(proxy, toxic_name(spec)))

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Accept again."""
        await each(lane.on(spec), lambda proxy: listener.reopen(proxy, toxic_name(spec)))

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Cut, and refuse."""
        for proxy in lane.on(spec):
            proxy.refuse(toxic_name(spec))
            proxy.cut()

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Accept again."""
        for proxy in lane.on(spec):
            proxy.accept(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Connections cut."""
        return sum(1 for _ in cut(row, frames))


FAULT: FaultKind = Disconnect()
