"""Single frames are held until the fault ends.

## What it does
Each selected frame is held until the fault ends, along with everything after it on its connection. Then all of it is
passed on, even to a client or a broker that gave the connection up long ago.

## What it probes
For responses, the late response: an answer to a request that the client has timed out, on a connection that it may have
kept. For requests, the ghost request: it reaches the broker and is applied after the client has left.

## How it is made
The witness keeps the frame. A FIN waits after it, so that the broker reads the request before it learns that the client
no longer waits for its response.

## Where it is seen
At the witness, the row of the frame has the time at which it was passed on, and says that it was late, and by which
fault. A hit is such a row.

## What it cannot do
It cannot hold a frame for a peer that resets the connection meanwhile. Such a frame is lost, its row says that it was
stopped, and it is not a hit.
"""

from __future__ import annotations

from faults.effects import span
from faults.frame_fault import FrameFault
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind
from harness.witness.actions import HOLD, Action


class HeldFrame(FrameFault):
    """The fault kind ``held_frame``."""

    name = "held_frame"
    summary = "single requests or responses, and everything after them, are held until the fault ends"
    seen_by = ("witness",)
    shown_by = "frames were passed on when the fault ended, and not before"

    def action(self, spec: FaultSpec) -> Action:
        """Return the action that holds the frame until the fault ends."""
        return HOLD

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        lasted = span.span_of(row)
        return sum(
            lasted is not None and frame.t_ns >= lasted.due_ns for frame in self.acted_on(row, evidence)
        )


FAULT: FaultKind = HeldFrame()
