"""What the kinds of fault share that brokers have and no network.

In the live world they work through the cluster's own administration, or on its processes; a trial with one of them has
its cluster to itself. In the simulated one the scripted brokers do as they are told. What was hit is read from the
witness's rows in both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from faults.kind import BOTH_WORLDS, Fault, passed
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import LiveLane
from harness.simulated.lane import SimulatedLane


class BrokerFault(Fault):
    """The defaults: both worlds, no parameters, nothing to undo, and hits from the frames."""

    worlds = BOTH_WORLDS
    alone = True

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Nothing to undo, unless a kind says otherwise."""

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Nothing to undo, unless a kind says otherwise."""

    def simulated_hits(self, row: FaultRow, frames: Sequence[Frame], lane: SimulatedLane) -> int:
        """As ``hits``: the witness sees it all."""
        return self.hits(row, frames)


class WitnessFault(BrokerFault):
    """A fault of brokers that the witness plays for real ones, on its own lane alone."""

    alone = False


def nodes(spec: FaultSpec, lane: SimulatedLane) -> list[int]:
    """The node ids of the brokers that a fault is for."""
    return [proxy.node_id for proxy in lane.on(spec)]


def live_nodes(spec: FaultSpec, lane: LiveLane) -> list[int]:
    """As :func:`nodes`, in the live world."""
    return [proxy.address.broker for proxy in lane.on(spec)]


def partitions(lane: SimulatedLane) -> Iterator[int]:
    """The partitions of the trial's topic, none while it is deleted."""
    if lane.cluster.has_topic(lane.topic):
        yield from range(lane.cluster.partition_count(lane.topic))


def responses(row: FaultRow, frames: Iterable[Frame], api_key: int) -> Iterator[Frame]:
    """The answers of an API during a fault."""
    return (frame for frame in passed(row, frames, (FrameKind.RESPONSE,)) if frame.api_key == api_key)


def errors(row: FaultRow, frames: Iterable[Frame], codes: Collection[int]) -> int:
    """How many answers during a fault have one of these error codes."""
    answers = passed(row, frames, (FrameKind.RESPONSE,))
    return sum(1 for frame in answers if any(code in codes for code in frame.error_codes))
