"""The broker does not support the requested version of ApiVersions.

## What it does
The next ``count`` responses to ApiVersions are UNSUPPORTED_VERSION in version 0, whatever version was requested, as
from a broker that is much older than the client (KIP-511). To affect the client's first connection, start it with the
phase ``startup``.

## What it probes
Whether the client reads a response in another version than it requested, and asks again in version 0. A client that
decodes the response in its own version reads garbage.

## How it is made
The witness passes on such a response in place of the broker's.

## Where it is seen
At the witness, the row of the response says that it was changed, and by which fault. A hit is such a row.

## What it cannot do
It cannot make the broker old: its response in version 0 lists what the broker really supports.
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
    seen_by = ("witness",)
    params: tuple[FaultParam, ...] = (FaultParam("count", 1, 1, 1_000_000, "how many answers"),)

    def match(self, spec: FaultSpec) -> FrameMatch:
        """Select the responses to ApiVersions."""
        return FrameMatch("ApiVersions", "response", count=self.values(spec)["count"])

    def action(self, spec: FaultSpec) -> Action:
        """Return the action that replaces the response with UNSUPPORTED_VERSION."""
        return rewritten(lambda payload, _: unsupported_version(payload))


FAULT: FaultKind = UnsupportedVersion()
