"""Single frames never arrive.

## What it does
Each of the frames that are meant is thrown away whole. The connection lives on (``end`` 0), or ends with it by FIN
(1) or by RST (2).

## What it probes
One answer of several in flight that is missing, with those behind it arriving: a client that pairs answers by order
takes the next one for it, one that compares correlation ids notices. A request that was never applied beside one that
was.

## How it is made
By the witness, which holds a frame back until it is whole and then does not pass it on.

## Where it is seen
The row of the frame says that it was stopped, and by which fault: a hit is such a row. The other side never sees it:
the broker appends nothing of a dropped request, the client's request behind a dropped response times out.

## What it cannot do
Hide from TCP that the bytes were taken: both sides have had them acknowledged.
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
    summary = "single requests or responses are thrown away, with or without their connection"
    params: tuple[FaultParam, ...] = (
        FaultParam("end", 0, 0, RST, "what becomes of the connection: 0 it lives on, 1 FIN, 2 RST"),
    )

    def action(self, spec: FaultSpec) -> Action:
        """Throw it away."""
        end = self.values(spec)["end"]
        return drop_and_end(reset=end == RST) if end else DROP


FAULT: FaultKind = DroppedFrame()
