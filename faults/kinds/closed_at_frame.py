"""The connection ends at a frame.

## What it does
With each of the frames that are meant its connection ends, on both sides, by FIN or by RST (``reset`` 1): behind the
whole frame, or, with ``at_byte`` 0 and more, when so many bytes of it have passed (at most all but one).

## What it probes
A request that was applied and an answer that broke off at any byte: in the size field, in the header, in the body;
the end right behind a whole answer, whose request must not be sent again.

## How it is made
By the witness, which closes both of its sockets.

## Where it is seen
At the witness the connection ends with neither side as the one who ended it. The row of the frame says whether it was
stopped, and by which fault: a hit is such a row.

## What it cannot do
Reset the client: the witness's RST reaches the broker, but Toxiproxy, which stands between, passes it on to the client
as FIN (``reset`` resets clients). Make sure that what was passed on before an RST is read: a reset may overtake it.
"""

from __future__ import annotations

from faults.frame_fault import FrameFault
from harness.model.evidence import Evidence
from harness.model.exchanges import connections
from harness.model.rows import FaultRow
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam
from harness.witness.actions import Action, end_behind, tear


class ClosedAtFrame(FrameFault):
    """The fault kind ``closed_at_frame``."""

    name = "closed_at_frame"
    summary = "the connection ends at a byte of single frames, or right behind them"
    shown_by = "connections ended at a frame, by neither side"
    params: tuple[FaultParam, ...] = (
        FaultParam("at_byte", -1, -1, 2**28, "how much of the frame passes, -1 for all of it"),
        FaultParam("reset", 0, 0, 1, "1 for RST, 0 for FIN"),
    )

    def action(self, spec: FaultSpec) -> Action:
        """Pass on so much, and end."""
        values = self.values(spec)
        reset = bool(values["reset"])
        return end_behind(reset=reset) if values["at_byte"] < 0 else tear(values["at_byte"], reset=reset)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        known = connections(evidence)
        acted = self.acted_on(row, evidence)
        return sum(frame.conn in known and known[frame.conn].closed_by is None for frame in acted)


FAULT: FaultKind = ClosedAtFrame()
