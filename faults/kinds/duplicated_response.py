"""A response arrives twice.

## What it does
Each selected response is passed on two times in a row.

## What it probes
Whether the client takes the second copy for the response to its next request. It is correct to treat the connection as
broken; it is not correct to complete a request with the copy.

## How it is made
The witness writes the frame twice.

## Where it is seen
At the witness, the row of the response says which fault acted on it. A hit is such a row.

## What it cannot do
A real broker never does this; a broken middlebox does.
"""

from __future__ import annotations

from faults.frame_fault import FrameFault
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind
from harness.witness.actions import TWICE, Action


class DuplicatedResponse(FrameFault):
    """The fault kind ``duplicated_response``."""

    name = "duplicated_response"
    summary = "single responses are passed on twice"
    seen_by = ("witness",)
    directions = ("response",)

    def action(self, spec: FaultSpec) -> Action:
        """Return the action that writes the response twice."""
        return TWICE


FAULT: FaultKind = DuplicatedResponse()
