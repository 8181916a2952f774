"""The base classes of faults that act on brokers and not on the network.

In live mode they use the cluster's own administration, or act on its processes; a trial with such a fault has its
cluster to itself. In simulated mode the scripted brokers act them out. In both modes the hits are read from the
witness's rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from harness.model.mode import BOTH_MODES
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import Fault, LiveLane, passed
from harness.simulated.lane import SimulatedLane


class BrokerFault(Fault):
    """By default a fault works in both modes, has no parameters or undo, and counts hits from the frames."""

    modes = BOTH_MODES
    exclusive_cluster = True

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Do nothing, unless a kind overrides it."""

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Do nothing, unless a kind overrides it."""

    def simulated_hits(self, row: FaultRow, frames: Sequence[Frame], lane: SimulatedLane) -> int:
        """Return ``hits``, because the witness sees all of it."""
        return self.hits(row, frames)


class WitnessFault(BrokerFault):
    """A fault of brokers that the witness imitates on behalf of real ones, on its own lane alone."""

    exclusive_cluster = False


def nodes(spec: FaultSpec, lane: SimulatedLane) -> list[int]:
    """Return the node ids of the brokers that a fault targets."""
    return [proxy.node_id for proxy in lane.on(spec)]


def live_nodes(spec: FaultSpec, lane: LiveLane) -> list[int]:
    """Like :func:`nodes`, in live mode."""
    return [proxy.address.broker for proxy in lane.on(spec)]


def partitions(lane: SimulatedLane) -> Iterator[int]:
    """Yield the partitions of the trial's topic, or nothing while it is deleted."""
    if lane.cluster.has_topic(lane.topic):
        yield from range(lane.cluster.partition_count(lane.topic))


def responses(row: FaultRow, frames: Iterable[Frame], api_key: int) -> Iterator[Frame]:
    """Yield the responses of an API during a fault."""
    return (frame for frame in passed(row, frames, (FrameKind.RESPONSE,)) if frame.api_key == api_key)


def errors(row: FaultRow, frames: Iterable[Frame], codes: Collection[int]) -> int:
    """Return how many responses during a fault contain one of these error codes."""
    answers = passed(row, frames, (FrameKind.RESPONSE,))
    return sum(1 for frame in answers if any(code in codes for code in frame.error_codes))
