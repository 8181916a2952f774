"""The client is throttled as if it were over its quota.

## What it does
For the duration every response of the API ``api`` contains a throttle time of ``throttle_ms``, and after it the broker
does not read from the connection for that time (KIP-219).

## What it probes
Whether the client itself holds back for the throttle time, counts the wait against the right deadlines, and keeps its
other connections working.

## How it is made
In live mode the witness puts the time into the broker's responses, and the broker itself keeps reading. In simulated
mode the scripted brokers treat the quota as exceeded each time.

## Where it is seen
At the witness: a hit is a response of that API during the fault with a throttle time. The client sees the time in the
response.

## What it cannot do
It cannot depend on how much the client really sends.
"""

from __future__ import annotations

from collections.abc import Sequence

from faults.broker_fault import WitnessFault, responses
from faults.effects import frames
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec, FrameMatch
from harness.plugins.fault import FaultKind, FaultParam, LiveLane, toxic_name
from harness.simulated.lane import SimulatedLane
from harness.wire.apis import Api, api_name
from harness.witness.actions import changed
from harness.witness.rewrites import throttle_time

EVERY = 2**31 - 1


class Throttle(WitnessFault):
    """The fault kind ``throttle``."""

    name = "throttle"
    summary = "answers report an exceeded quota, and the broker stops reading for that time"
    seen_by = ("client", "witness")
    shown_by = "answers contained the throttle time that the fault set"
    params: tuple[FaultParam, ...] = (
        FaultParam("api", Api.PRODUCE, 0, 100, "the key of the API that is throttled"),
        FaultParam("throttle_ms", 300, 1, 600_000, "the throttle time of each answer"),
    )

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Start throttling."""
        values = self.values(spec)
        match = FrameMatch(api_name(values["api"]), "response", count=EVERY)
        lane.witness.arm(toxic_name(spec), match, changed(throttle_time(values["throttle_ms"])), spec.brokers)

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Stop throttling."""
        lane.witness.disarm(toxic_name(spec))

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Start throttling."""
        values = self.values(spec)
        lane.cluster.set_throttle_ms(values["api"], values["throttle_ms"], toxic_name(spec))

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Stop throttling."""
        lane.cluster.set_throttle_ms(self.values(spec)["api"], 0, toxic_name(spec))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the responses with a throttle time."""
        answers = responses(row, frames, self.values(row.spec)["api"])
        return sum(frame.throttle_ms > 0 for frame in answers)

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        api = self.values(row.spec)["api"]
        return sum(
            frame.api_key == api and frame.throttle_ms > 0
            for frame in frames.injected(row, evidence, toxic_name(row.spec))
        )


FAULT: FaultKind = Throttle()
