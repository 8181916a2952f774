"""Single frames are held until the fault ends.

## What it does
Each of the frames that are meant stays where it is, with whatever is behind it on its connection, until the fault is
over; then all of it goes on, also to a client or a broker that has long given the connection up.

## What it probes
The late response: an answer to a request that the client has timed out, on a connection that it may have kept. And
the ghost request, where requests are meant: it reaches the broker, and is applied, after the client has left.

## How it is made
By the witness, which keeps the frame. A FIN waits behind it, so that the broker reads the request before it learns
that nobody waits for its answer.

## Where it is seen
At the witness the row of the frame has the time at which it was passed on, and says that it was late, and by which
fault: a hit is such a row.

## What it cannot do
Hold a frame back from somebody who resets the connection meanwhile: then it is gone, its row says that it was stopped,
and it is no hit.
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
    summary = "single requests or responses, and what is behind them, are held until the fault ends"
    shown_by = "frames were passed on when the fault ended, and not before"

    def action(self, spec: FaultSpec) -> Action:
        """Keep it until the end."""
        return HOLD

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        lasted = span.span_of(row)
        return sum(
            lasted is not None and frame.t_ns >= lasted.due_ns for frame in self.acted_on(row, evidence)
        )


FAULT: FaultKind = HeldFrame()
