"""Single frames arrive late.

## What it does
Each of the frames that are meant is passed on ``delay_ms`` later, and with it whatever is behind it on its
connection; connections beside it are on time.

## What it probes
An answer behind its request timeout, on a connection that works otherwise; answers that come in a burst behind one
that was late; one slow broker or one slow API, where the client's clocks are for each request.

## How it is made
By the witness, which keeps the frame for so long.

## Where it is seen
At the witness the row of the frame has the time at which it was passed on, and says that it was late, and by which
fault: a hit is such a row.

## What it cannot do
Let what is behind the frame overtake it (that is ``swapped_responses``).
"""

from __future__ import annotations

from faults.frame_fault import FrameFault
from harness.ports import FaultKind, FaultParam
from harness.spec import FaultSpec
from harness.witness.actions import Action, delay


class LateFrame(FrameFault):
    """The fault kind ``late_frame``."""

    name = "late_frame"
    summary = "single requests or responses, and what is behind them, are passed on later"
    params: tuple[FaultParam, ...] = (FaultParam("delay_ms", 1_000, 1, 600_000, "how much later"),)

    def action(self, spec: FaultSpec) -> Action:
        """Keep it for a while."""
        return delay(self.values(spec)["delay_ms"])


FAULT: FaultKind = LateFrame()
