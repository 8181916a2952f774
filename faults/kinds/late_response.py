"""Responses are held, and all of them arrive when the fault ends.

## What it does
For the duration of the fault requests reach the broker and are applied, and every response is held. When the fault
ends, all of them arrive at once, in order. They also reach a client that gave up waiting long ago, if it kept its
connection.

## What it probes
Responses after the request timeout. A client that closes the connection on a timeout must send again what was applied.
A client that keeps the connection must recognize a late response, and not take it for the response to a later request.

## How it is made
Responses get a delay of one hour, which is removed again. In live mode this is a ``latency`` toxic downstream, on open
and on later connections. Its delay is first set to 0, which releases what is held, and then the toxic is removed.

## Where it is seen
The client sees silence, and then responses, unless it has left. At the witness the responses are on time. A hit is a
response that passed the witness during the fault.

## What it cannot do
It cannot hold one response and not the next (``held_frame`` does that). Toxiproxy has room for 1,024 pieces per
connection; beyond that the broker has to wait before it can write. New connections receive nothing before the end
either.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.effects import frames
from faults.held_back import HeldBack
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.plugins.fault import FaultKind, passed


class LateResponse(HeldBack):
    """The fault kind ``late_response``."""

    name = "late_response"
    summary = "answers are held back for the duration, then all arrive"
    seen_by = ("client", "witness")
    shown_by = "answers passed, and the client got the results later or did without them"
    stream = "downstream"

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the responses that were held."""
        return sum(1 for _ in passed(row, frames, (FrameKind.RESPONSE,)))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return frames.held_back(row, evidence)


FAULT: FaultKind = LateResponse()
