"""Two responses change places.

## What it does
Each of the responses that are meant is passed on behind the one that follows it on its connection.

## What it probes
Whether the client pairs answers with requests by correlation id or by order: by order it takes each for the other's.
A broker answers in order, so a client may also call the connection broken; it must not complete the wrong request.

## How it is made
By the witness, which keeps the response until another has passed, or the broker or the fault has ended.

## Where it is seen
At the witness the row of the response has the time at which it was passed on, and says that it was late, and by which
fault: a hit is such a row.

## What it cannot do
Change places with an answer that never comes: a client that waits for this one alone waits until the fault ends. That
response was not overtaken, and is no hit; nor is the first of two that are meant and follow each other: it is passed on
when the second comes, which is kept in its place. A response that the connection's end finds waiting is gone: its row
says that it was stopped, and it is no hit.
"""

from __future__ import annotations

from faults.frame_fault import FrameFault
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind
from harness.witness.actions import SWAP, Action


class SwappedResponses(FrameFault):
    """The fault kind ``swapped_responses``."""

    name = "swapped_responses"
    summary = "single responses are passed on behind the next one"
    directions = ("response",)

    def action(self, spec: FaultSpec) -> Action:
        """Keep it until the next has passed."""
        return SWAP


FAULT: FaultKind = SwappedResponses()
