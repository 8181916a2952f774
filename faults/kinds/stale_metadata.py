"""Metadata names an outdated leader, or leaves a broker out.

## What it does
For the duration each Metadata response says that broker ``leader_id`` leads every partition, in a leader epoch that is
``epochs_back`` older than the true one. With ``unnamed_id`` that broker is removed from the list of brokers in the
response, even if it is said to lead. Everything else is as the broker wrote it.

## What it probes
Metadata from a broker that has not learned of a move yet. Whether the client, when the named leader refuses it, asks
again after a pause and not in a rush. Whether it lets an older leader epoch replace a newer one (KIP-320 says that it
must not). Whether it waits for a leader whose address it does not know, as for one that is not available.

## How it is made
The witness changes the response in the version that the client uses.

## Where it is seen
At the witness, the row of the response says that it was changed, and by which fault. A hit is such a row.

## What it cannot do
It cannot change what the client already knows, or learns from a Produce response (KIP-951). A topic's epochs begin at
0, so there is no older epoch before a leader has moved. A response that already says all of this passes unchanged and
is not a hit: for example when ``leader_id`` really leads, or when the broker to leave out is not in it.
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
    seen_by = ("witness",)
    params: tuple[FaultParam, ...] = (
        FaultParam("leader_id", 1, 0, 2**31 - 1, "the broker that is said to lead"),
        FaultParam("epochs_back", 0, 0, 1_000_000, "how much older its epoch is"),
        FaultParam("unnamed_id", NOBODY, NOBODY, 2**31 - 1, "the broker that is left out; -1 for none"),
    )

    def match(self, spec: FaultSpec) -> FrameMatch:
        """Select every Metadata response."""
        return FrameMatch("Metadata", "response", count=EVERY)

    def action(self, spec: FaultSpec) -> Action:
        """Return the action that names the leader and leaves the other broker out; no broker has the id ``NOBODY``."""
        values = self.values(spec)
        lead = leaders(values["leader_id"], values["epochs_back"])
        leave_out = without_broker(values["unnamed_id"])
        return changed(lambda message: leave_out(lead(message)))


FAULT: FaultKind = StaleMetadata()
