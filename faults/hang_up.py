"""Whoever connects is hung up on at once.

## What it does
For the duration of the fault every attempt to connect succeeds, and the connection ends a moment later, before anything
is answered on it. Connections that were open end when it begins, as soon as their client is silent.

## What it probes
A broker's crash as it looks behind a proxy or a balancer, which accepts for a host that is gone: never refused, so a
client that takes "connected" for "back" tries again without a pause. It must back off, and must not take the end of a
connection for an answer.

## How it is made
In the live world a ``timeout`` toxic upstream with a patience of 1 ms, on open and on later connections; what clients
send meanwhile is thrown away. At the end the connections that are left are closed. In the simulated world the proxy
closes what it has accepted.

## Where it is seen
The client reads the end of the stream right after it has connected. At the witness connections end from the client's
side without an answer on them: a hit is a connection that ended.

## What it cannot do
End the connection of a client that never stops sending: Toxiproxy waits for a silence of 1 ms. Have the proxy itself
gone: that is ``refuse``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from faults.kind import BOTH_WORLDS, Fault, cut, each, toxic_name
from faults.swallow import let_through, swallow
from harness.lane import LiveLane
from harness.ports import FaultKind
from harness.rows import FaultRow, Frame
from harness.simulated.lane import SimulatedLane
from harness.spec import FaultSpec

#: The shortest that Toxiproxy knows.
PATIENCE_MS: Final = 1


class HangUp(Fault):
    """The fault kind ``hang_up``."""

    name = "hang_up"
    summary = "connections are accepted and closed at once for the duration, and open ones end"
    worlds = BOTH_WORLDS

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Hang up on everybody."""
        await each(lane.on(spec), lambda proxy: swallow(proxy, toxic_name(spec), "upstream", PATIENCE_MS))

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Close what is left, and let connections live again."""
        await each(lane.on(spec), lambda proxy: let_through(proxy, toxic_name(spec)))

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Hang up on everybody."""
        for proxy in lane.on(spec):
            proxy.hang_up(toxic_name(spec))
            proxy.cut()

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Let connections live again."""
        for proxy in lane.on(spec):
            proxy.accept(toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Connections that ended."""
        return sum(1 for _ in cut(row, frames))


FAULT: FaultKind = HangUp()
