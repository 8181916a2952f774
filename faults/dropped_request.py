"""Requests are sent, and never arrive.

## What it does
For the duration of the fault every byte of every request is thrown away, on open connections and on new ones, which
can still be made. At its end all connections are closed, for there is a hole in each stream.

## What it probes
The counterpart of ``dropped_response``: the client sees the same silence, but here nothing was applied. Whoever
takes the one for the other either loses records or reports failures that are none.

## How it is made
In the simulated world alone: the bytes are swallowed in front of the witness.

## Where it is seen
The client sees silence, then the end of the connection. The witness sees nothing: a hit is a piece of data that was
swallowed.

## What it cannot do
Drop one request and let the next one through.
"""

from __future__ import annotations

from faults.kind import SimulatedFault, toxic_name
from harness.ports import FaultKind
from harness.simulated.lane import SimulatedLane
from harness.spec import FaultSpec


class DroppedRequest(SimulatedFault):
    """The fault kind ``dropped_request``."""

    name = "dropped_request"
    summary = "requests are thrown away on their way; then the connections are closed"

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Throw requests away."""
        for proxy in lane.on(spec):
            proxy.up.silence(toxic_name(spec))

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Close the connections, and let requests through again."""
        for proxy in lane.on(spec):
            if proxy.up.restore(toxic_name(spec)):
                proxy.cut()


FAULT: FaultKind = DroppedRequest()
