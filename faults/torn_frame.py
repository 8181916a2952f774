"""A frame is cut in two, and its second half never comes.

## What it does
On every connection that is open when the fault begins, the next frame (or what is left of it, or its next piece) in
the chosen direction is the last: ``at_byte`` bytes of it pass, then the connection ends, by FIN or by RST.
Connections that carry nothing in that direction during the fault are spared.

## What it probes
The end of a stream at any byte: inside the size field, inside a header, inside a batch. Half a response is no
response, and half a request must not be appended.

## How it is made
In the simulated world alone.

## Where it is seen
At the witness the connections end from the client's side, upstream with the beginning of a request that never
ended. A hit is a connection that was torn.

## What it cannot do
Let the whole frame through and cut behind it: that is ``disconnect``.
"""

from __future__ import annotations

from faults.kind import SimulatedFault, toxic_name
from harness.ports import FaultKind, FaultParam
from harness.simulated.connection import Tear
from harness.simulated.lane import SimulatedLane
from harness.spec import FaultSpec


class TornFrame(SimulatedFault):
    """The fault kind ``torn_frame``."""

    name = "torn_frame"
    summary = "the next frame of each connection is cut at a byte, and the connection ends there"
    params: tuple[FaultParam, ...] = (
        FaultParam("upstream", 0, 0, 1, "1 for requests, 0 for responses"),
        FaultParam("at_byte", 2, 0, 1_048_576, "how much of the frame passes, at most all but one byte"),
        FaultParam("reset", 0, 0, 1, "1 for RST, 0 for FIN"),
    )

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Be ready to tear."""
        values = self.values(spec)
        tear = Tear(toxic_name(spec), bool(values["upstream"]), values["at_byte"], bool(values["reset"]))
        for proxy in lane.on(spec):
            for connection in list(proxy.connections):
                connection.arm_tear(tear)

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Spare what was not torn."""
        for proxy in lane.on(spec):
            for connection in list(proxy.connections):
                connection.disarm_tear(toxic_name(spec))


FAULT: FaultKind = TornFrame()
