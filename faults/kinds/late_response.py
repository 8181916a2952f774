"""Answers wait behind a gate, and all come when it opens.

## What it does
For the duration of the fault requests reach the broker and are applied, and every answer is held back. When the fault
ends all of them arrive at once, in order: also to a client that has long given up waiting, if it kept its connection.

## What it probes
Answers behind the request timeout. A client that closes the connection on a timeout must send again what was applied;
one that keeps it must know a late answer for what it is, and not take it for that of a later request.

## How it is made
A delay of an hour on answers, which is taken away again: in the live world a ``latency`` toxic downstream, on open and
on later connections, whose delay is first set to 0, which lets go of what is held, and which is then removed.

## Where it is seen
The client sees silence, and then answers, unless it has left. At the witness the responses are on time: a hit is a
response that passed the witness during the fault.

## What it cannot do
Hold one answer and not the next (that is ``held_frame``). Toxiproxy has room for 1,024 pieces a connection; beyond that
the broker has to wait before it can write. New connections hear nothing before the end either.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.effects import frames
from faults.held_back import HeldBack
from faults.kind import passed
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.plugins.fault import FaultKind


class LateResponse(HeldBack):
    """The fault kind ``late_response``."""

    name = "late_response"
    summary = "answers are held back for the duration, then all arrive"
    shown_by = "Produce answers passed, and the client had their results later or did without them"
    stream = "downstream"

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Responses held back."""
        return sum(1 for _ in passed(row, frames, (FrameKind.RESPONSE,)))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return frames.held_back(row, evidence)


FAULT: FaultKind = LateResponse()
