"""Brokers that are down for a while: they are ended, connections to them are refused, and they are started again.

A proxy alone would accept and hang up, as Toxiproxy does when its upstream does not listen. A disabled proxy refuses,
as a host does whose process has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any

from faults import listener
from faults.broker_fault import live_nodes
from faults.wanted import Wanted, wanted
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import LiveLane, each, passed, toxic_name
from harness.simulated.lane import SimulatedLane


def downs(lane: LiveLane | SimulatedLane, node_id: int) -> Wanted[bool]:
    """Return the faults that want the broker to be down, whatever their kind."""
    return wanted(lane.cluster, ("down", node_id))


async def take_down(spec: FaultSpec, lane: LiveLane, how: Callable[[int], Coroutine[Any, Any, None]]) -> None:
    """End each of the fault's brokers by calling ``how`` with its node id, and refuse connections to them."""

    async def down(node_id: int) -> None:
        await downs(lane, node_id).put(toxic_name(spec), True, lambda _: how(node_id))

    await each(live_nodes(spec, lane), down)
    await each(lane.on(spec), lambda proxy: listener.close(proxy, toxic_name(spec)))


async def bring_back(spec: FaultSpec, lane: LiveLane) -> None:
    """Restart the brokers that no other fault wants down, on the data that they had, and accept connections again.

    Do nothing if no broker was taken down.
    """
    for node_id in live_nodes(spec, lane):
        await downs(lane, node_id).take_back(toxic_name(spec), partial(_up, lane, node_id))
    await each(lane.on(spec), lambda proxy: listener.reopen(proxy, toxic_name(spec)))


def hung_up(row: FaultRow, frames: Iterable[Frame]) -> int:
    """Return how many connections the broker's side closed during the fault."""
    return sum(1 for frame in passed(row, frames, (FrameKind.CLOSE,)) if frame.closed_by == "broker")


async def _up(lane: LiveLane, node_id: int, is_down: bool | None) -> None:
    if not is_down and node_id not in lane.cluster.up:
        await lane.cluster.restart(node_id)
