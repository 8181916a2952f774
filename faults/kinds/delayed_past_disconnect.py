"""Requests are held, and reach the broker after the client has left.

## What it does
For the duration of the fault every request is held, on open connections and on new ones. When the fault ends, all of
them arrive in order. If the client has closed the connection meanwhile, its end arrives after them.

## What it probes
A request that was given up as lost is applied after all: after its retry, which used another connection, or after the
client has reported that it failed. Without idempotence the log holds it twice, or out of order. With idempotence the
broker recognizes the sequence numbers. A client that reports a failure as certain because the connection has ended is
wrong here.

## How it is made
Requests get a delay of one hour, which is removed again. In live mode this is a ``latency`` toxic upstream. Its delay
is first set to 0, which releases what is held, and then the toxic is removed. A FIN waits after the held data, and so
does the end of a connection that the client has reset.

## Where it is seen
The client sees silence. At the witness requests arrive at the end of the fault, and connections end from the client's
side right after them. A hit is a request that arrived during the fault or at its end on such a connection. If the
client is still connected, its requests are merely late and are not hits.

## What it cannot do
It cannot make the client leave: the fault must last longer than the client's request timeout. It cannot hold one
request and not the next (``held_frame`` does that).
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.effects import frames
from faults.held_back import HeldBack
from faults.kind import cut
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.plugins.fault import FaultKind, passed


class DelayedPastDisconnect(HeldBack):
    """The fault kind ``delayed_past_disconnect``."""

    name = "delayed_past_disconnect"
    summary = (
        "requests are held back for the duration, and then reach the broker although the client has left"
    )
    seen_by = ("client", "witness")
    shown_by = "requests arrived after their client had closed the connection"
    stream = "upstream"

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the requests that arrived from clients that had left."""
        left = {frame.conn for frame in cut(row, frames)}
        return sum(frame.conn in left for frame in passed(row, frames, (FrameKind.REQUEST,)))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return frames.ghosts(row, evidence)


FAULT: FaultKind = DelayedPastDisconnect()
