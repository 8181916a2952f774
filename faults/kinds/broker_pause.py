"""A broker stands still, as under a long garbage collection or a stopped process.

## What it does
For the duration its brokers accept connections and bytes, and neither read a request nor answer one. At the end they
go on with what has come meanwhile, in order, also what the client has long given up on. A follower that stands still
is waited for by acks=all.

## What it probes
The request timeout with a connection that looks alive; batches that are appended late, after their retry; and the
broker's own REQUEST_TIMED_OUT, behind which the batch is in the log.

## How it is made
In the live world by SIGSTOP and SIGCONT. In the simulated world the scripted brokers leave requests where they are.

## Where it is seen
Requests reach the broker and are answered after the end: a hit is a request that arrived during the fault.

## What it cannot do
Stop an answer that is on its way. In the simulated world the controller never takes the broker for dead; a real one
does after ``broker.session.timeout.ms``, 9 s, and lets others lead.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from faults.broker_fault import BrokerFault, live_nodes, nodes
from faults.effects import frames
from faults.kind import each, passed, toxic_name
from faults.wanted import Wanted, wanted
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, LiveLane
from harness.simulated.lane import SimulatedLane

_NS_PER_MS = 1_000_000


class BrokerPause(BrokerFault):
    """The fault kind ``broker_pause``."""

    name = "broker_pause"
    summary = "brokers accept everything and answer nothing; then they go on"
    lingers_s = 0.0
    shown_by = "requests came, and had no answer before the brokers went on"

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Stop them."""

        async def stop(node_id: int) -> None:
            await _pauses(lane, node_id).put(toxic_name(spec), True, lambda _: _pause(lane, node_id))

        await each(live_nodes(spec, lane), stop)

    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Have them go on."""

        async def go_on(node_id: int) -> None:
            await _pauses(lane, node_id).take_back(toxic_name(spec), partial(_resume, lane, node_id))

        await each(live_nodes(spec, lane), go_on)

    def begin(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Stop them."""
        until_ns = lane.now_ns + spec.duration_ms * _NS_PER_MS
        for node_id in nodes(spec, lane):
            _pauses(lane, node_id).add(toxic_name(spec), True)
            if lane.cluster.accepts(node_id):
                lane.cluster.pause(node_id, until_ns)

    def end(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Have them go on."""
        for node_id in nodes(spec, lane):
            if not _pauses(lane, node_id).drop(toxic_name(spec)):
                lane.cluster.resume(node_id)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Requests that had to wait."""
        return sum(1 for _ in passed(row, frames, (FrameKind.REQUEST,)))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return frames.unanswered(row, evidence)


def _pauses(lane: LiveLane | SimulatedLane, node_id: int) -> Wanted[bool]:
    return wanted(lane.cluster, ("paused", node_id))


async def _pause(lane: LiveLane, node_id: int) -> None:
    if node_id in lane.cluster.up:  # it may stand still already
        await lane.cluster.pause(node_id)


async def _resume(lane: LiveLane, node_id: int, is_paused: bool | None) -> None:
    if not is_paused:
        await lane.cluster.resume(node_id)


FAULT: FaultKind = BrokerPause()
