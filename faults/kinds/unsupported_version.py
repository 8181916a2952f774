"""A broker does not know the version in which ApiVersions is asked.

## What it does
The next ``count`` answers to ApiVersions are UNSUPPORTED_VERSION in version 0, whatever was asked, as from a broker
that is much older than the client (KIP-511). Where it is to meet the client's first
connection, it starts with the phase ``startup``.

## What it probes
Whether the client reads an answer in another version than it asked in, and asks again in version 0; a client that reads
it by its own version finds garbage.

## How it is made
By the witness, which passes on such an answer in place of the broker's.

## Where it is seen
At the witness the row of the answer says that it was changed, and by which fault: a hit is such a row.

## What it cannot do
Make the broker old: what it says in version 0 is what it can.
"""

from __future__ import annotations

from faults.frame_fault import FrameFault
from harness.model.spec import FaultSpec, FrameMatch
from harness.plugins.fault import FaultKind, FaultParam
from harness.witness.actions import Action, rewritten
from harness.witness.rewrites import unsupported_version


class UnsupportedVersion(FrameFault):
    """The fault kind ``unsupported_version``."""

    name = "unsupported_version"
    summary = "ApiVersions is answered UNSUPPORTED_VERSION in version 0"
    params: tuple[FaultParam, ...] = (FaultParam("count", 1, 1, 1_000_000, "how many answers"),)

    def match(self, spec: FaultSpec) -> FrameMatch:
        """Answers to ApiVersions."""
        return FrameMatch("ApiVersions", "response", count=self.values(spec)["count"])

    def action(self, spec: FaultSpec) -> Action:
        """Say so."""
        return rewritten(lambda payload, _: unsupported_version(payload))


FAULT: FaultKind = UnsupportedVersion()
