"""Nobody answers at the brokers' addresses.

## What it does
Open connections end when the fault begins. For its duration an attempt to connect is neither accepted nor refused.
At its end the attempts that still wait are accepted.

## What it probes
The connection setup timeout, and what a client does beside a connection that hangs: others must go on, and the
attempt must be given up by the clock, for nothing else will end it.

## How it is made
In the simulated world alone, as an address whose packets are dropped.

## Where it is seen
The client sees nothing at all. A hit is an attempt to connect that was left without an answer.

## What it cannot do
Answer some attempts and not others; leave the open connections alone.
"""

from __future__ import annotations

from faults.kind import SimulatedFault, toxic_name
from harness.ports import FaultKind
from harness.simulated.lane import SimulatedLane
from harness.spec import FaultSpec


class ConnectTimeout(SimulatedFault):
    """The fault kind ``connect_timeout``."""

    name = "connect_timeout"
    summary = "attempts to connect have no answer for the duration, and open connections end"

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Cut, and answer nobody."""
        for proxy in lane.on(spec):
            proxy.ignore(toxic_name(spec))
            proxy.cut()

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Answer again."""
        for proxy in lane.on(spec):
            proxy.accept(toxic_name(spec))


FAULT: FaultKind = ConnectTimeout()
