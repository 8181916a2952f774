"""Single frames never arrive.

## What it does
Each selected frame is dropped whole. The connection stays open (``end`` 0), or ends with the frame by FIN (1) or by RST
(2).

## What it probes
One of several responses in flight is missing, and those after it arrive. A client that matches responses by order takes
the next response for the missing one; a client that compares correlation ids notices. It also probes a request that was
never applied next to one that was.

## How it is made
The witness buffers a frame until it is whole and then does not pass it on.

## Where it is seen
The row of the frame says that it was stopped, and by which fault. A hit is such a row. The other side never sees the
frame: the broker does not see a dropped request, and a client whose response is dropped times out.

## What it cannot do
It cannot hide from TCP that the bytes were received: both sides have got an acknowledgement for them.
"""

from __future__ import annotations

from faults.frame_fault import FrameFault
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam
from harness.witness.actions import DROP, Action, drop_and_end

FIN, RST = 1, 2


class DroppedFrame(FrameFault):
    """The fault kind ``dropped_frame``."""

    name = "dropped_frame"
    summary = "single requests or responses are dropped, and their connection stays open or ends"
    seen_by = ("client", "broker")
    params: tuple[FaultParam, ...] = (
        FaultParam("end", 0, 0, RST, "how the connection ends: 0 it stays open, 1 FIN, 2 RST"),
    )

    def action(self, spec: FaultSpec) -> Action:
        """Return the action that drops the frame."""
        end = self.values(spec)["end"]
        return drop_and_end(reset=end == RST) if end else DROP


FAULT: FaultKind = DroppedFrame()
