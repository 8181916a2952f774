"""What the harness writes in a simulated trial: batches and end markers, stored as they are."""

from __future__ import annotations

from collections.abc import Coroutine
from itertools import count
from typing import Final

from harness.brokers.scripted.cluster import ScriptedCluster
from harness.simulated.network import Network
from harness.simulated.scheduler import NS_PER_MS, Scheduler
from harness.wire.records import end_transaction_marker

#: The producer ids of the harness. Scripted brokers give clients smaller ones.
_FIRST_PRODUCER_ID: Final = 900_000


class SimulatedStore:
    """The :class:`~harness.plugins.cluster.Store` of scripted brokers. Its methods never wait."""

    def __init__(self, cluster: ScriptedCluster, scheduler: Scheduler, network: Network) -> None:
        self._cluster, self._scheduler, self._network = cluster, scheduler, network
        self._producer_ids = count(_FIRST_PRODUCER_ID)

    async def append(self, topic: str, partition: int, batch: bytes, name: str = "") -> int:
        """Append one batch, and return its base offset."""
        [base_offset] = self._cluster.fill(topic, partition, [batch], self._scheduler.now_ns)
        return base_offset

    async def producer(self, name: str) -> tuple[int, int]:
        """Return the next producer id, with epoch 0."""
        return next(self._producer_ids), 0

    async def join(self, name: str, producer: tuple[int, int], topic: str, partitions: list[int]) -> None:
        """Do nothing: a transaction begins in a partition with its first batch there."""

    async def end(
        self, name: str, producer: tuple[int, int], commits: bool, topic: str, partitions: list[int]
    ) -> None:
        """Append the end marker to each partition."""
        now_ms = self._network.wall_ns // NS_PER_MS
        marker = end_transaction_marker("COMMIT" if commits else "ABORT", *producer, now_ms)
        for partition in partitions:
            await self.append(topic, partition, marker)


def at_once(work: Coroutine[None, None, None]) -> None:
    """Run work that never waits."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    raise RuntimeError("something waited in virtual time")
