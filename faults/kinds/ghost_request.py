"""Requests wait on their way, and reach the broker after the client has left.

## What it does
For the duration of the fault every request is held back, on open connections and on new ones. When the fault ends all
of them arrive, in order, and behind them the end of the connection, if the client has closed it meanwhile.

## What it probes
A request that was given up for lost is applied after all: behind its retry, which went by another connection, or behind
the client's word that it failed. Without idempotence the log holds it twice, or out of order; with it the broker
knows the sequence numbers. Whoever reports a failure as certain because the connection is gone is wrong here.

## How it is made
A delay of an hour on requests, which is taken away again: in the live world a ``latency`` toxic upstream, whose delay
is first set to 0, which lets go of what is held, and which is then removed. A FIN waits behind what is held, and so
does the end of a connection that the client has reset.

## Where it is seen
The client sees silence. At the witness requests arrive at the end of the fault, and connections end from the client's
side right behind them: a hit is a request that arrived during the fault or by its end on such a connection. Where the
client is still there its requests are merely late, and no hit.

## What it cannot do
Make the client leave: the fault must last longer than its request timeout. Hold one request and not the next (that is
``held_frame``).
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.effects import frames
from faults.held_back import HeldBack
from faults.kind import cut, passed
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.plugins.fault import FaultKind


class GhostRequest(HeldBack):
    """The fault kind ``ghost_request``."""

    name = "ghost_request"
    summary = "requests are held back for the duration, and then reach the broker though the client has left"
    shown_by = "requests came when their client had left, and had asked elsewhere"
    stream = "upstream"

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Requests that arrived from clients that had left."""
        left = {frame.conn for frame in cut(row, frames)}
        return sum(frame.conn in left for frame in passed(row, frames, (FrameKind.REQUEST,)))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return frames.ghosts(row, evidence)


FAULT: FaultKind = GhostRequest()
