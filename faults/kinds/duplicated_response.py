"""A response comes twice.

## What it does
Each of the responses that are meant is passed on two times, one behind the other.

## What it probes
Whether the client takes the second for the answer to its next request. To call the connection broken is right; to
complete a request with it is not.

## How it is made
By the witness, which writes the frame twice.

## Where it is seen
At the witness the row of the response says which fault it met: a hit is such a row.

## What it cannot do
Come from a real broker: it is what a broken middlebox does.
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
    directions = ("response",)

    def action(self, spec: FaultSpec) -> Action:
        """Write it twice."""
        return TWICE


FAULT: FaultKind = DuplicatedResponse()
