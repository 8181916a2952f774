"""Followers fall behind, and too few replicas are in sync.

## What it does
For the duration its brokers are out of the ISR of every partition that they follow. Where fewer are left than
min.insync.replicas asks for, acks=all is refused with NOT_ENOUGH_REPLICAS; other acks go on. At the end they are in
sync again. With one replica there is nobody to fall behind, and nothing happens.

## What it probes
Whether the client retries what certainly was not appended, for as long as its delivery timeout allows, and keeps its
order.

## How it is made
In the simulated world alone: the scripted controller takes them out of the ISR.

## Where it is seen
A hit is an answer with NOT_ENOUGH_REPLICAS, or with NOT_ENOUGH_REPLICAS_AFTER_APPEND.

## What it cannot do
Make the leader fall behind itself; it leads on, alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from kio.schema.errors import ErrorCode

from faults.broker_fault import BrokerFault, errors, nodes
from harness.ports import FaultKind
from harness.rows import FaultRow, Frame
from harness.simulated.lane import SimulatedLane
from harness.spec import FaultSpec


class MinIsr(BrokerFault):
    """The fault kind ``min_isr``."""

    name = "min_isr"
    summary = "followers fall out of the ISR, and acks=all is refused"

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Have them fall behind."""
        for node_id in nodes(spec, lane):
            lane.cluster.drop_from_isr(node_id)

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Have them catch up."""
        for node_id in nodes(spec, lane):
            lane.cluster.return_to_isr(node_id)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Answers that ask for more replicas."""
        codes = (ErrorCode.not_enough_replicas, ErrorCode.not_enough_replicas_after_append)
        return errors(row, frames, codes)


FAULT: FaultKind = MinIsr()
