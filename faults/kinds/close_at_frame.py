"""The connection ends at a frame.

## What it does
At each selected frame its connection ends on both sides, by FIN or by RST (``reset`` 1). By default it ends after the
whole frame. With ``at_byte`` 0 or more it ends after that many bytes of the frame, at most all but one.

## What it probes
A request that was applied and whose response breaks off at any byte: in the size field, in the header, in the body. It
also probes an end right after a whole response, whose request must not be sent again.

## How it is made
The witness closes both of its sockets.

## Where it is seen
At the witness, the connection ends and neither side is recorded as the one that closed it. The row of the frame says
whether it was stopped, and by which fault. A hit is such a row.

## What it cannot do
It cannot reset the client. The witness's RST reaches the broker, but Toxiproxy passes it on to the client as FIN
(``reset`` resets clients). It also cannot guarantee that the bytes passed on before an RST are read, since a reset may
overtake them.
"""

from __future__ import annotations

from faults.frame_fault import FrameFault
from harness.model.evidence import Evidence
from harness.model.exchanges import connections
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam
from harness.witness.actions import Action, end_behind, tear


class CloseAtFrame(FrameFault):
    """The fault kind ``close_at_frame``."""

    name = "close_at_frame"
    summary = "the connection ends at a byte of single frames, or right after them"
    seen_by = ("witness",)
    shown_by = "connections ended at a frame, and neither side had closed them"
    params: tuple[FaultParam, ...] = (
        FaultParam("at_byte", -1, -1, 2**28, "how much of the frame passes, -1 for all of it"),
        FaultParam("reset", 0, 0, 1, "1 for RST, 0 for FIN"),
    )

    def action(self, spec: FaultSpec) -> Action:
        """Return the action that passes on the given part of the frame and ends the connection."""
        values = self.values(spec)
        reset = bool(values["reset"])
        return end_behind(reset=reset) if values["at_byte"] < 0 else tear(values["at_byte"], reset=reset)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        known = connections(evidence)
        acted = self.acted_on(row, evidence)
        return sum(frame.conn in known and known[frame.conn].closed_by is None for frame in acted)


FAULT: FaultKind = CloseAtFrame()
