"""Metadata names a leader that is none, or leaves a broker out.

## What it does
For the duration each Metadata answer says that broker ``leader_id`` leads every partition, in a leader epoch that is
``epochs_back`` older than the true one. With ``unnamed_id`` that broker is left out of those that the answer names,
also if it is said to lead. All else of it is as the broker wrote it.

## What it probes
Metadata from a broker that has not heard of a move yet: whether the client, refused by the one named, asks again with a
pause and not in a rush; whether it lets an older leader epoch replace a newer one (KIP-320 says it must not); whether
it waits for a leader whose address nobody has told it, as for one that is not available.

## How it is made
By the witness, which changes the answer in the version that the client speaks.

## Where it is seen
At the witness the row of the answer says that it was changed, and by which fault: a hit is such a row.

## What it cannot do
Reach what the client has learned already, or from a Produce answer (KIP-951). A topic's epochs begin at 0: there is no
older one to name before a leader has moved. Hit an answer that says all that already, as where ``leader_id`` leads, or
in which there is no such broker: it passes as it came.
"""

from __future__ import annotations

from faults.frame_fault import FrameFault
from harness.model.spec import FaultSpec, FrameMatch
from harness.plugins.fault import FaultKind, FaultParam
from harness.witness.actions import Action, changed
from harness.witness.rewrites import leaders, without_broker

EVERY = 2**31 - 1
NOBODY = -1


class StaleMetadata(FrameFault):
    """The fault kind ``stale_metadata``."""

    name = "stale_metadata"
    summary = "Metadata answers name another leader, in an older epoch, or leave a broker out"
    params: tuple[FaultParam, ...] = (
        FaultParam("leader_id", 1, 0, 2**31 - 1, "the broker that is said to lead"),
        FaultParam("epochs_back", 0, 0, 1_000_000, "how much older its epoch is"),
        FaultParam("unnamed_id", NOBODY, NOBODY, 2**31 - 1, "the broker that is not named; -1: all are"),
    )

    def match(self, spec: FaultSpec) -> FrameMatch:
        """Every Metadata answer."""
        return FrameMatch("Metadata", "response", count=EVERY)

    def action(self, spec: FaultSpec) -> Action:
        """Name the one, leave out the other; no broker's id is that of ``NOBODY``."""
        values = self.values(spec)
        lead = leaders(values["leader_id"], values["epochs_back"])
        leave_out = without_broker(values["unnamed_id"])
        return changed(lambda message: leave_out(lead(message)))


FAULT: FaultKind = StaleMetadata()
