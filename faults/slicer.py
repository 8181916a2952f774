"""Bytes arrive in small pieces.

## What it does
While the fault lasts, all data in both directions is cut into pieces of ``size_bytes``, each of which leaves
``delay_us`` after the one before. When it ends, what is left of a frame arrives at once.

## What it probes
Framing: a size field in two reads, a header without its body, one byte at a time, the end of one response and the
beginning of the next in one piece. And, with a delay, requests that trickle in beyond their timeout.

## How it is made
In the simulated world alone: what enters a connection is cut there.

## Where it is seen
Frames arrive whole at either end, only later: a hit is a frame that passed the witness during the fault.

## What it cannot do
Join what was sent apart; choose other places to cut than multiples of a size.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.kind import SimulatedFault, passed, toxic_name
from harness.ports import FaultKind, FaultParam
from harness.rows import FaultRow, Frame, FrameKind
from harness.simulated.lane import SimulatedLane
from harness.spec import FaultSpec

NS_PER_US = 1_000


class Slicer(SimulatedFault):
    """The fault kind ``slicer``."""

    name = "slicer"
    summary = "data arrives in small pieces, both ways"
    params: tuple[FaultParam, ...] = (
        FaultParam("size_bytes", 64, 1, 1_048_576, "how long a piece is"),
        FaultParam("delay_us", 0, 0, 60_000_000, "how much later each piece follows"),
    )

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Cut."""
        values = self.values(spec)
        for proxy in lane.on(spec):
            for way in (proxy.up, proxy.down):
                way.slice(toxic_name(spec), values["size_bytes"], values["delay_us"] * NS_PER_US)

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Leave whole what is whole."""
        for proxy in lane.on(spec):
            proxy.up.restore(toxic_name(spec))
            proxy.down.restore(toxic_name(spec))

    def simulated_hits(self, row: FaultRow, frames: Sequence[Frame], lane: SimulatedLane) -> int:
        """Frames that passed."""
        return sum(1 for _ in passed(row, frames, (FrameKind.REQUEST, FrameKind.RESPONSE)))


FAULT: FaultKind = Slicer()
