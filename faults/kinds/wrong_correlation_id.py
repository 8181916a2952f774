"""A response has the correlation id of no request.

## What it does
Each selected response gets another correlation id; everything else is as the broker wrote it.

## What it probes
Whether the client compares the id at all. It must not complete a request with such a response; Kafka's own client
closes the connection.

## How it is made
The witness changes the four bytes.

## Where it is seen
At the witness, the row of the response says that it was changed, and by which fault. A hit is such a row.

## What it cannot do
It cannot use the id of another pending request (``swapped_responses`` does that).
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
    summary = "single responses have a correlation id that no request had"
    seen_by = ("witness",)
    directions = ("response",)

    def action(self, spec: FaultSpec) -> Action:
        """Return the action that changes the correlation id."""
        return rewritten(lambda payload, _: other_correlation_id(payload))


FAULT: FaultKind = WrongCorrelationId()
