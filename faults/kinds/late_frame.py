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
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.model.units import NS_PER_MS
from harness.plugins.fault import FaultKind, FaultParam
from harness.witness.actions import Action, delay


class LateFrame(FrameFault):
    """The fault kind ``late_frame``."""

    name = "late_frame"
    summary = "single requests or responses, and what is behind them, are passed on later"
    shown_by = "frames were passed on later by the delay"
    params: tuple[FaultParam, ...] = (FaultParam("delay_ms", 1_000, 1, 600_000, "how much later"),)

    def action(self, spec: FaultSpec) -> Action:
        """Keep it for a while."""
        return delay(self.values(spec)["delay_ms"])

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        delay_ns = self.values(row.spec)["delay_ms"] * NS_PER_MS
        return sum(frame.t_ns - frame.arrived_ns >= delay_ns for frame in self.acted_on(row, evidence))


FAULT: FaultKind = LateFrame()
