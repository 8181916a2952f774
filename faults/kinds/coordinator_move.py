"""Groups and transactional ids get another coordinator.

## What it does
When the fault begins, every partition of the internal topics (``__transaction_state``, ``__consumer_offsets``) that one
of its brokers leads moves to the next broker, along with the ids and groups that this partition coordinates. It stays
there. With a single broker, or before a client has first asked for a coordinator, nothing happens.

## What it probes
Whether the client asks FindCoordinator again when it gets NOT_COORDINATOR, waits while the new coordinator loads
(COORDINATOR_LOAD_IN_PROGRESS), and repeats what was not done, in order.

## How it is made
In live mode it works like ``leader_move``: another replica becomes the preferred one and is elected. In simulated mode
the scripted brokers agree on the next broker for every key at once.

## Where it is seen
The old coordinator answers NOT_COORDINATOR. A hit is such a response that passes the witness during the fault.

## What it cannot do
It cannot affect a producer without a transactional id: its producer id comes from any broker, and it has no
coordinator.
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
    seen_by = ("witness",)
    #: Coordinators keep the ids and groups that they served in memory.
    lingers_s = math.inf
    shown_by = "answers reported NOT_COORDINATOR"

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Move the coordinators."""
        for topic in INTERNAL_TOPICS:
            await move_on(lane.cluster, topic, live_nodes(spec, lane))

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Move every coordinator, because scripted brokers have no internal topics that one of them could lead."""
        lane.cluster.settings.coordinators_moved += 1

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the responses of brokers that are no longer the coordinator."""
        return errors(row, frames, (ErrorCode.not_coordinator,))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return frames.told(row, evidence, (ErrorCode.not_coordinator,))


FAULT: FaultKind = CoordinatorMove()
