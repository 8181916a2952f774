"""The other side is gone, and the client is not told.

## What it does
Every open connection loses its way in the moment the fault begins: the broker's end is closed, the client's stays
open and hears nothing. What the client sends during the fault goes nowhere. After it the way is back, and leads to
somebody who does not know the connection: who sent meanwhile is reset then, who sends later is reset then. New
connections work.

## What it probes
Silence that is no slowness: only the request timeout, and for a connection without requests only the next use,
tells the client. It must not wait longer than that, and not take a written frame for a delivered one.

## How it is made
In the simulated world alone, as a router or a balancer does that forgets what it carries.

## Where it is seen
At the witness the connections end from the client's side; the client's end of them lives on. A hit is a connection
that lost its way, and each frame that was sent into nowhere.

## What it cannot do
Leave the broker in the dark instead of the client: of that no client can tell.
"""

from __future__ import annotations

from faults.kind import SimulatedFault, toxic_name
from harness.ports import FaultKind
from harness.simulated.lane import SimulatedLane
from harness.spec import FaultSpec


class HalfOpen(SimulatedFault):
    """The fault kind ``half_open``."""

    name = "half_open"
    summary = "open connections lose their broker's end, and the client is not told"

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Lose the way."""
        for proxy in lane.on(spec):
            for connection in list(proxy.connections):
                connection.orphan(toxic_name(spec))

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Have the way back, without anybody at its end."""
        for proxy in lane.on(spec):
            for connection in list(proxy.connections):
                connection.way_is_back(toxic_name(spec))


FAULT: FaultKind = HalfOpen()
