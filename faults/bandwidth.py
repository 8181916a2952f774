"""Bytes leave slowly.

## What it does
While the fault lasts, each connection carries no more than so many bytes a second in a direction; 0 is no limit.
Order is kept and nothing is lost. When it ends, what is still on the way arrives at once.

## What it probes
The request timeout, which counts from the sending of a request and not from its arrival; batches that grow while
the line is busy; and delivery timeouts that expire with bytes still on the way.

## How it is made
In the simulated world alone: a piece of data takes its size over the rate, and those behind it wait.

## Where it is seen
Requests come late to the witness, or answers late to the client: a hit is a frame, of a slow direction, that passed
the witness during the fault.

## What it cannot do
Share one limit between several connections; slow down a FIN with nothing in front of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.kind import SimulatedFault, passed, toxic_name
from harness.ports import FaultKind, FaultParam
from harness.rows import FaultRow, Frame, FrameKind
from harness.simulated.lane import SimulatedLane
from harness.spec import FaultSpec

_MAX = 1_000_000_000


class Bandwidth(SimulatedFault):
    """The fault kind ``bandwidth``."""

    name = "bandwidth"
    summary = "bytes leave no faster than a rate, in order, none lost"
    params: tuple[FaultParam, ...] = (
        FaultParam("upstream_bytes_per_s", 0, 0, _MAX, "how fast requests leave; 0 for no limit"),
        FaultParam("downstream_bytes_per_s", 0, 0, _MAX, "how fast responses leave; 0 for no limit"),
    )

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Slow down."""
        values, name = self.values(spec), toxic_name(spec)
        for proxy in lane.on(spec):
            if values["upstream_bytes_per_s"]:
                proxy.up.throttle(name, values["upstream_bytes_per_s"])
            if values["downstream_bytes_per_s"]:
                proxy.down.throttle(name, values["downstream_bytes_per_s"])

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Go at full speed again."""
        for proxy in lane.on(spec):
            proxy.up.restore(toxic_name(spec))
            proxy.down.restore(toxic_name(spec))

    def simulated_hits(self, row: FaultRow, frames: Sequence[Frame], lane: SimulatedLane) -> int:
        """Frames that passed in a slow direction."""
        values = self.values(row.spec)
        kinds = {"upstream": FrameKind.REQUEST, "downstream": FrameKind.RESPONSE}
        slow = [kind for stream, kind in kinds.items() if values[f"{stream}_bytes_per_s"]]
        return sum(1 for _ in passed(row, frames, slow))


FAULT: FaultKind = Bandwidth()
