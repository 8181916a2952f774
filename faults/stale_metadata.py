"""Metadata names a leader that is none.

## What it does
For the duration each Metadata answer says that broker ``leader_id`` leads every partition, in a leader epoch that is
``epochs_back`` older than the true one. All else of it is as the broker wrote it.

## What it probes
Metadata from a broker that has not heard of a move yet: whether the client, refused by the one named, asks again with a
pause and not in a rush; whether it lets an older leader epoch replace a newer one (KIP-320 says it must not).

## How it is made
By the witness, which changes the answer in the version that the client speaks.

## Where it is seen
The row of the answer says that it was changed, and by which fault: a hit is such a row.

## What it cannot do
Reach what the client has learned already, or from a Produce answer (KIP-951). A topic's epochs begin at 0: there is no
older one to name before a leader has moved.
"""

from __future__ import annotations

from faults.frame_fault import FrameFault
from harness.ports import FaultKind, FaultParam
from harness.spec import FaultSpec, FrameMatch
from harness.witness.actions import Action, changed
from harness.witness.rewrites import leaders

EVERY = 2**31 - 1


class StaleMetadata(FrameFault):
    """The fault kind ``stale_metadata``."""

    name = "stale_metadata"
    summary = "Metadata answers name another leader, in an older epoch"
    params: tuple[FaultParam, ...] = (
        FaultParam("leader_id", 1, 0, 2**31 - 1, "the broker that is said to lead"),
        FaultParam("epochs_back", 0, 0, 1_000_000, "how much older its epoch is"),
    )

    def match(self, spec: FaultSpec) -> FrameMatch:
        """Every Metadata answer."""
        return FrameMatch("Metadata", "response", count=EVERY)

    def action(self, spec: FaultSpec) -> Action:
        """Name it."""
        values = self.values(spec)
        return changed(leaders(values["leader_id"], values["epochs_back"]))


FAULT: FaultKind = StaleMetadata()
