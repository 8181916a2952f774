"""Single frames arrive in small pieces.

## What it does
Each of the frames that are meant is passed on in pieces of ``size_bytes``, ``gap_us`` one after the other.

## What it probes
Framing, at every byte: a size field in two reads, a header without its body. And an answer that trickles in beyond
its request timeout while bytes keep coming.

## How it is made
By the witness, which writes each piece by itself; there is no delay of small packets on its sockets.

## Where it is seen
The frame arrives whole at the other end, only later; its row at the witness has the time of its last piece, and says
that it was late, and by which fault: a hit is such a row.

## What it cannot do
Keep the network from joining pieces that follow each other without a gap. A frame that is no longer than a piece passes
as it came, and is no hit.
"""

from __future__ import annotations

from faults.frame_fault import FrameFault
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam
from harness.witness.actions import Action, slices

NS_PER_US = 1_000


class SlicedFrame(FrameFault):
    """The fault kind ``sliced_frame``."""

    name = "sliced_frame"
    summary = "single requests or responses arrive in small pieces"
    params: tuple[FaultParam, ...] = (
        FaultParam("size_bytes", 1, 1, 1_048_576, "how long a piece is"),
        FaultParam("gap_us", 200, 0, 60_000_000, "how much later each piece follows"),
    )

    def action(self, spec: FaultSpec) -> Action:
        """Cut it."""
        values = self.values(spec)
        return slices(values["size_bytes"], values["gap_us"] * NS_PER_US)


FAULT: FaultKind = SlicedFrame()
