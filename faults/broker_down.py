"""Brokers that are down for a while: taken down in one way or another, refused meanwhile, brought back, and seen to go.

A proxy alone would accept and hang up, as Toxiproxy does in front of nobody; disabled, it refuses, as a host does whose
process is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any

from faults import listener
from faults.broker_fault import live_nodes
from faults.kind import each, passed, toxic_name
from faults.wanted import Wanted, wanted
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import LiveLane
from harness.simulated.lane import SimulatedLane


def downs(lane: LiveLane | SimulatedLane, node_id: int) -> Wanted[bool]:
    """Who wants the broker to be down, whatever the kind of fault."""
    return wanted(lane.cluster, ("down", node_id))


async def take_down(spec: FaultSpec, lane: LiveLane, how: Callable[[int], Coroutine[Any, Any, None]]) -> None:
    """End the fault's brokers, each by ``how`` of its node id, and refuse connections to them."""

    async def down(node_id: int) -> None:
        await downs(lane, node_id).put(toxic_name(spec), True, lambda _: how(node_id))

    await each(live_nodes(spec, lane), down)
    await each(lane.on(spec), lambda proxy: listener.close(proxy, toxic_name(spec)))


async def bring_back(spec: FaultSpec, lane: LiveLane) -> None:
    """Start on the data that they had those that no other fault wants down, and accept again.

    Also where nothing was taken down.
    """
    for node_id in live_nodes(spec, lane):
        await downs(lane, node_id).take_back(toxic_name(spec), partial(_up, lane, node_id))
    await each(lane.on(spec), lambda proxy: listener.reopen(proxy, toxic_name(spec)))


def hung_up(row: FaultRow, frames: Iterable[Frame]) -> int:
    """How many connections the broker's end closed during the fault."""
    return sum(1 for frame in passed(row, frames, (FrameKind.CLOSE,)) if frame.closed_by == "broker")


async def _up(lane: LiveLane, node_id: int, is_down: bool | None) -> None:
    if not is_down and node_id not in lane.cluster.up:
        await lane.cluster.restart(node_id)
