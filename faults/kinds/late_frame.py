"""Single frames arrive late.

## What it does
Each selected frame is passed on ``delay_ms`` later, along with everything after it on its connection. Other connections
are on time.

## What it probes
A response that arrives after its request timeout, on a connection that works otherwise; responses that arrive in a
burst after one that was late; one slow broker or one slow API, for a client that keeps a timer per request.

## How it is made
The witness holds the frame for that long.

## Where it is seen
At the witness, the row of the frame has the time at which it was passed on, and says that it was late, and by which
fault. A hit is such a row.

## What it cannot do
It cannot let later frames overtake the late one (``swapped_responses`` does that).
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
    summary = "single requests or responses, and everything after them, are passed on later"
    seen_by = ("witness",)
    shown_by = "frames were passed on later by the delay"
    params: tuple[FaultParam, ...] = (FaultParam("delay_ms", 1_000, 1, 600_000, "how much later"),)

    def action(self, spec: FaultSpec) -> Action:
        """Return the action that delays the frame."""
        return delay(self.values(spec)["delay_ms"])

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        delay_ns = self.values(row.spec)["delay_ms"] * NS_PER_MS
        return sum(frame.t_ns - frame.arrived_ns >= delay_ns for frame in self.acted_on(row, evidence))


FAULT: FaultKind = LateFrame()
