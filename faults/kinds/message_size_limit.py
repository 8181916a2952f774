"""The topic accepts only batches that are smaller than the client's.

## What it does
For the duration ``max.message.bytes`` of the topic is ``bytes``, counted over the whole batch including its header. A
larger batch is refused with MESSAGE_TOO_LARGE, and no part of it is appended. At the end the brokers' default applies
again.

## What it probes
Whether the client splits the batch into smaller ones, in order and each with its own sequence numbers, and gives up on
a record that is too large alone.

## How it is made
The fault changes the topic's settings: through the controller in live mode, in the scripted cluster in simulated mode.

## Where it is seen
At the witness: a hit is a response with MESSAGE_TOO_LARGE during the fault.

## What it cannot do
It cannot tell the client the limit: no response contains it.
"""

from __future__ import annotations

from collections.abc import Sequence

from kio.schema.errors import ErrorCode

from faults.broker_fault import BrokerFault, errors
from faults.effects import frames
from faults.wanted import Wanted, wanted
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, FaultParam, LiveLane, toxic_name
from harness.simulated.lane import SimulatedLane

#: Applies to the whole batch, including its header.
LIMIT = "max.message.bytes"


class MessageSizeLimit(BrokerFault):
    """The fault kind ``message_size_limit``."""

    name = "message_size_limit"
    summary = "batches above a size are refused"
    seen_by = ("witness",)
    lingers_s = 0.0
    shown_by = "answers reported MESSAGE_TOO_LARGE"
    params: tuple[FaultParam, ...] = (
        FaultParam("bytes", 400, 0, 2**31 - 1, "the largest batch that is accepted"),
    )

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Set the limit."""
        limit = str(self.values(spec)["bytes"])
        await _limits(lane).put(toxic_name(spec), limit, lambda limit: _alter(lane, limit))

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Remove the limit."""
        await _limits(lane).take_back(toxic_name(spec), lambda limit: _alter(lane, limit))

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Set the limit."""
        self._set(lane, _limits(lane).add(toxic_name(spec), str(self.values(spec)["bytes"])))

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Remove the limit."""
        self._set(lane, _limits(lane).drop(toxic_name(spec)))

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the responses that report a batch as too large."""
        return errors(row, frames, (ErrorCode.message_too_large,))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return frames.told(row, evidence, (ErrorCode.message_too_large,))

    def _set(self, lane: SimulatedLane, limit: str | None) -> None:
        if lane.cluster.has_topic(lane.topic):
            lane.cluster.alter_config(lane.topic, {LIMIT: limit})


def _limits(lane: LiveLane | SimulatedLane) -> Wanted[str]:
    return wanted(lane.cluster, (LIMIT, lane.topic))


async def _alter(lane: LiveLane, limit: str | None) -> None:
    await lane.cluster.alterations.alter_topic(lane.topic, LIMIT, limit)


FAULT: FaultKind = MessageSizeLimit()
