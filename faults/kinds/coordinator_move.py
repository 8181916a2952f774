"""Groups and transactional ids get another coordinator.

## What it does
When the fault begins, every partition of the brokers' internal topics (``__transaction_state``, ``__consumer_offsets``)
that one of its brokers leads goes to the next broker, and with it the ids and groups that it coordinates. It stays
there. With one broker, or while nobody has asked for a coordinator yet, nothing happens.

## What it probes
Whether the client asks FindCoordinator again when it hears NOT_COORDINATOR, waits while the new one loads
(COORDINATOR_LOAD_IN_PROGRESS), and repeats what was not done, in order.

## How it is made
In the live world as ``leader_move``: another replica becomes the preferred one and is elected. In the simulated world
the scripted brokers agree on the next broker for every key, at once.

## Where it is seen
The old coordinator answers NOT_COORDINATOR: a hit is such an answer that passes the witness during the fault.

## What it cannot do
Touch a producer without a transactional id: its id comes from any broker, and it has no coordinator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kio.schema.errors import ErrorCode

from faults.broker_fault import BrokerFault, errors, live_nodes
from faults.effects import frames
from faults.kinds.leader_move import move_on
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, LiveLane
from harness.simulated.lane import SimulatedLane

INTERNAL_TOPICS = ("__transaction_state", "__consumer_offsets")


class CoordinatorMove(BrokerFault):
    """The fault kind ``coordinator_move``."""

    name = "coordinator_move"
    summary = "groups and transactional ids get another coordinator, and keep it"
    #: Coordinators remember in memory whom they served.
    lingers_s = math.inf
    shown_by = "answers said NOT_COORDINATOR"

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Move them."""
        for topic in INTERNAL_TOPICS:
            await move_on(lane.cluster, topic, live_nodes(spec, lane))

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Move them all: scripted brokers have no internal topics that one of them could lead."""
        lane.cluster.settings.coordinators_moved += 1

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Answers of those who do not coordinate any more."""
        return errors(row, frames, (ErrorCode.not_coordinator,))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return frames.told(row, evidence, (ErrorCode.not_coordinator,))


FAULT: FaultKind = CoordinatorMove()
