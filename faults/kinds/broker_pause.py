"""A broker is paused, as during a long garbage collection or by SIGSTOP.

## What it does
For the duration, the fault's brokers accept connections and bytes, but neither read nor answer a request. At the end
they process everything that arrived meanwhile, in order, including requests that the client gave up long ago. A leader
waits for a paused follower when acks=all.

## What it probes
The request timeout on a connection that looks alive; batches that are appended late, after their retry; and the
broker's own REQUEST_TIMED_OUT, after which the batch is in the log.

## How it is made
In live mode the broker's process gets SIGSTOP and SIGCONT. In simulated mode the scripted brokers leave requests
unread.

## Where it is seen
Requests reach the broker, and are answered after the fault has ended. A hit is a request that arrived during the fault.

## What it cannot do
It cannot stop a response that is already on its way. In simulated mode the controller never considers the broker
dead. A real controller does so after ``broker.session.timeout.ms``, which is 9 s, and elects other leaders.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from faults.broker_fault import BrokerFault, live_nodes, nodes
from faults.effects import frames
from faults.wanted import Wanted, wanted
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultKind, LiveLane, each, passed, toxic_name
from harness.simulated.lane import SimulatedLane

_NS_PER_MS = 1_000_000


class BrokerPause(BrokerFault):
    """The fault kind ``broker_pause``."""

    name = "broker_pause"
    summary = "brokers accept everything and answer nothing; then they resume"
    seen_by = ("broker",)
    lingers_s = 0.0
    shown_by = "requests arrived, and got no answer before the brokers resumed"

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Pause the brokers."""

        async def stop(node_id: int) -> None:
            await _pauses(lane, node_id).put(toxic_name(spec), True, lambda _: _pause(lane, node_id))

        await each(live_nodes(spec, lane), stop)

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Resume the brokers."""

        async def go_on(node_id: int) -> None:
            await _pauses(lane, node_id).take_back(toxic_name(spec), partial(_resume, lane, node_id))

        await each(live_nodes(spec, lane), go_on)

    def inject_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Pause the brokers."""
        until_ns = lane.now_ns + spec.duration_ms * _NS_PER_MS
        for node_id in nodes(spec, lane):
            _pauses(lane, node_id).add(toxic_name(spec), True)
            if lane.cluster.accepts(node_id):
                lane.cluster.pause(node_id, until_ns)

    def heal_sim(self, spec: FaultSpec, lane: SimulatedLane) -> None:
        """Resume the brokers."""
        for node_id in nodes(spec, lane):
            if not _pauses(lane, node_id).drop(toxic_name(spec)):
                lane.cluster.resume(node_id)

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count the requests that had to wait."""
        return sum(1 for _ in passed(row, frames, (FrameKind.REQUEST,)))

    def effects(self, row: FaultRow, evidence: Evidence) -> int:
        """See ``shown_by``."""
        return frames.unanswered(row, evidence)


def _pauses(lane: LiveLane | SimulatedLane, node_id: int) -> Wanted[bool]:
    return wanted(lane.cluster, ("paused", node_id))


async def _pause(lane: LiveLane, node_id: int) -> None:
    if node_id in lane.cluster.up:  # another fault may have paused it already
        await lane.cluster.pause(node_id)


async def _resume(lane: LiveLane, node_id: int, is_paused: bool | None) -> None:
    if not is_paused:
        await lane.cluster.resume(node_id)


FAULT: FaultKind = BrokerPause()
