"""Single frames arrive in small pieces.

## What it does
Each selected frame is passed on in pieces of ``size_bytes``, each of them ``gap_us`` after the one before.

## What it probes
Framing, at every byte: a size field in two reads, a header without its body. It also probes a response that trickles in
beyond its request timeout while bytes keep arriving.

## How it is made
The witness writes each piece separately. Its sockets do not delay small packets.

## Where it is seen
The frame arrives whole at the other end, only later. Its row at the witness has the time of its last piece, and says
that it was late, and by which fault. A hit is such a row.

## What it cannot do
It cannot keep the network from joining pieces that follow each other without a gap. A frame that is no longer than one
piece passes unchanged and is not a hit.
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
    seen_by = ("witness",)
    params: tuple[FaultParam, ...] = (
        FaultParam("size_bytes", 1, 1, 1_048_576, "the size of a piece"),
        FaultParam("gap_us", 200, 0, 60_000_000, "how much later each piece follows"),
    )

    def action(self, spec: FaultSpec) -> Action:
        """Return the action that slices the frame."""
        values = self.values(spec)
        return slices(values["size_bytes"], values["gap_us"] * NS_PER_US)


FAULT: FaultKind = SlicedFrame()
