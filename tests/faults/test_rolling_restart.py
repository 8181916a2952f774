"""A rolling restart: one broker at a time is down, and the next follows once the cluster has recovered."""

from __future__ import annotations

import asyncio
from itertools import chain
from types import SimpleNamespace
from typing import Any

import pytest

from harness.model.spec import AtTime, FaultSpec
from harness.plugins.fault import LiveLane
from harness.plugins.registry import fault

ROLLING = FaultSpec("broker_restart", AtTime(0), 500, {"one_by_one": 1})


class Door:
    """The proxy of one broker."""

    def __init__(self, nodes: Nodes, node_id: int) -> None:
        self._nodes = nodes
        self.address = SimpleNamespace(broker=node_id)

    async def disable(self) -> None:
        await self._nodes.do("disable", self.address.broker)
        self._nodes.shut.add(self.address.broker)

    async def enable(self) -> None:
        await self._nodes.do("enable", self.address.broker)
        self._nodes.shut.discard(self.address.broker)


class Nodes:
    """A fake cluster with proxies that record each action. ``fails_at`` is the action that fails."""

    def __init__(self, fails_at: tuple[str, int] | None = None) -> None:
        self.did: list[tuple[str, int]] = []
        self.down: set[int] = set()
        self.shut: set[int] = set()
        self.fails_at = fails_at
        self.proxies = tuple(Door(self, node_id) for node_id in (1, 2, 3))

    @property
    def up(self) -> tuple[int, ...]:
        return tuple(node_id for node_id in (1, 2, 3) if node_id not in self.down)

    async def do(self, what: str, node_id: int) -> None:
        if (what, node_id) == self.fails_at:
            self.fails_at = None
            raise OSError(what)
        self.did.append((what, node_id))

    async def stop(self, node_id: int) -> None:
        assert not self.down, "two brokers are down"
        await self.do("stop", node_id)
        self.down.add(node_id)

    async def restart(self, node_id: int) -> None:
        await self.do("restart", node_id)
        self.down.discard(node_id)

    async def in_sync(self, topic: str) -> None:
        assert not self.down
        await self.do(f"in sync: {topic}", 0)


def lane(nodes: Any) -> LiveLane:
    return LiveLane(nodes.proxies, None, nodes, "t")  # type: ignore[arg-type]


def test_each_broker_is_in_sync_before_the_next_restarts() -> None:
    nodes = Nodes()
    kind = fault("broker_restart")
    asyncio.run(kind.inject_live(ROLLING, lane(nodes)))
    turns = [
        [("stop", n), ("disable", n), ("restart", n), ("enable", n), ("in sync: t", 0)] for n in (1, 2, 3)
    ]
    assert nodes.did == [*chain(*turns)]
    asyncio.run(kind.heal_live(ROLLING, lane(nodes)))
    assert {what for what, _ in nodes.did[15:]} <= {"enable"}


@pytest.mark.parametrize("fails_at", [("restart", 2), ("disable", 2), ("in sync: t", 0)])
def test_interrupted_restart_is_completed_at_the_end(fails_at: tuple[str, int]) -> None:
    nodes = Nodes(fails_at)
    kind = fault("broker_restart")
    with pytest.raises(OSError, match=fails_at[0]):
        asyncio.run(kind.inject_live(ROLLING, lane(nodes)))
    asyncio.run(kind.heal_live(ROLLING, lane(nodes)))
    assert not nodes.down and not nodes.shut


def test_all_brokers_can_restart_at_once() -> None:
    nodes = Nodes()
    nodes.stop = lambda node_id: nodes.do("stop", node_id)  # type: ignore[method-assign]
    asyncio.run(fault("broker_restart").inject_live(FaultSpec("broker_restart", AtTime(0), 500), lane(nodes)))
    assert [what for what, _ in nodes.did] == ["stop"] * 3 + ["disable"] * 3
