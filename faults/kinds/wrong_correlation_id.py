"""A response answers a request that nobody made.

## What it does
Each of the responses that are meant has another correlation id; all else of it is as the broker wrote it.

## What it probes
Whether the client compares the id at all. It must not complete a request with such an answer; Kafka's own client
closes the connection.

## How it is made
By the witness, which changes the four bytes.

## Where it is seen
At the witness the row of the response says that it was changed, and by which fault: a hit is such a row.

## What it cannot do
Be the id of another request that waits: that is ``swapped_responses``.
"""

from __future__ import annotations

from faults.frame_fault import FrameFault
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind
from harness.witness.actions import Action, rewritten
from harness.witness.rewrites import other_correlation_id


class WrongCorrelationId(FrameFault):
    """The fault kind ``wrong_correlation_id``."""

    name = "wrong_correlation_id"
    summary = "single responses have a correlation id that was never asked with"
    directions = ("response",)

    def action(self, spec: FaultSpec) -> Action:
        """Change the id."""
        return rewritten(lambda payload, _: other_correlation_id(payload))


FAULT: FaultKind = WrongCorrelationId()
