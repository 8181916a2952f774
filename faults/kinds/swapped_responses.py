"""Two responses change places.

## What it does
Each selected response is passed on after the one that follows it on its connection.

## What it probes
Whether the client matches responses to requests by correlation id or by order: by order it takes each response for the
other one. A broker answers in order, so a client may also treat the connection as broken, but it must not complete the
wrong request.

## How it is made
The witness keeps the response until another one has passed, or until the broker closes the connection or the fault
ends.

## Where it is seen
At the witness, the row of the response has the time at which it was passed on, and says that it was late, and by which
fault. A hit is such a row.

## What it cannot do
It cannot swap a response with one that never arrives: a client that waits for this response alone waits until the fault
ends. That response was not overtaken and is not a hit. If two selected responses follow each other, the first is not a
hit either: it is passed on when the second arrives, which is kept in its place. A response that is still waiting when
the connection ends is lost: its row says that it was stopped, and it is not a hit.
"""

from __future__ import annotations

from faults.frame_fault import FrameFault
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind
from harness.witness.actions import SWAP, Action


class SwappedResponses(FrameFault):
    """The fault kind ``swapped_responses``."""

    name = "swapped_responses"
    summary = "single responses are passed on after the next one"
    seen_by = ("witness",)
    directions = ("response",)

    def action(self, spec: FaultSpec) -> Action:
        """Return the action that keeps the response until the next one has passed."""
        return SWAP


FAULT: FaultKind = SwappedResponses()
