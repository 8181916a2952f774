"""Doing what the harness writes, on real and on scripted brokers, by one sequence of calls.

In a live trial a :class:`~harness.plugins.cluster.Store` waits for brokers. In a simulated one it never does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from harness.plugins.cluster import Store
from harness.trial.contents import End, Put, Writer, built

NS_PER_MS = 1_000_000


class Writing:
    """The harness as a writer of ``topic``. ``now`` returns monotonic and Unix time, in ns."""

    def __init__(self, topic: str, store: Store, now: Callable[[], tuple[int, int]]) -> None:
        self._topic, self._store, self._now = topic, store, now
        self._writers: dict[str, Writer] = {}

    async def prepare(self, name: str) -> None:
        """Get the producer id of a transactional producer."""
        await self._writer(name)

    async def put(self, act: Put) -> Mapping[int, int]:
        """Append batches. Return partition -> base offset."""
        began_ns, wall_ns = self._now()
        name, writer = "", None
        if act.writer:
            name, writer = self._id(act.writer), await self._writer(act.writer)
            await self._join(act.writer, list(act.records))
        bases = {}
        for partition, records in act.records.items():
            timestamp_ms = wall_ns // NS_PER_MS
            batch = (
                built(records, act.codec, timestamp_ms)
                if writer is None
                else writer.batch(partition, records, act.codec, timestamp_ms)
            )
            bases[partition] = await self._store.append(self._topic, partition, batch, name)
            if writer is not None:
                writer.wrote(partition, bases[partition], len(records), began_ns)
        return bases

    async def end(self, act: End) -> tuple[Writer, int]:
        """End a transaction. Return its producer, which still knows its records, and when the harness asked for it."""
        writer = await self._writer(act.writer)
        await self._join(act.writer, list(act.also))
        invoke_ns, _ = self._now()
        producer = writer.producer_id, writer.producer_epoch
        await self._store.end(self._id(act.writer), producer, act.commits, self._topic, sorted(writer.joined))
        return writer, invoke_ns

    @property
    def is_transactional(self) -> bool:
        """True if any transaction was begun."""
        return bool(self._writers)

    def is_open(self, name: str) -> bool:
        """Return whether a producer has a transaction with records that has not ended."""
        return name in self._writers and bool(self._writers[name].places)

    async def _writer(self, name: str) -> Writer:
        if name not in self._writers:
            self._writers[name] = Writer(*await self._store.producer(self._id(name)))
        return self._writers[name]

    async def _join(self, name: str, partitions: list[int]) -> None:
        writer = await self._writer(name)
        if new := sorted(set(partitions) - writer.joined):
            producer = writer.producer_id, writer.producer_epoch
            await self._store.join(self._id(name), producer, self._topic, new)
            writer.joined.update(new)

    def _id(self, name: str) -> str:
        return f"{self._topic}-{name}"
