"""The consumer of aiokafka. It rebalances in the background, so its listener waits for the end of a turn.

``start()`` connects to a broker, and raises if none answers. The next poll then starts the consumer again.
"""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any

import aiokafka  # type: ignore[import-not-found]

try:
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor  # type: ignore[import-not-found]
    from aiokafka.coordinator.assignors.roundrobin import (  # type: ignore[import-not-found]
        RoundRobinPartitionAssignor,
    )
    from aiokafka.coordinator.assignors.sticky.sticky_assignor import (  # type: ignore[import-not-found]
        StickyPartitionAssignor,
    )
except ImportError:  # before 0.9
    from kafka.coordinator.assignors.range import RangePartitionAssignor  # type: ignore[import-not-found]
    from kafka.coordinator.assignors.roundrobin import (  # type: ignore[import-not-found]
        RoundRobinPartitionAssignor,
    )
    from kafka.coordinator.assignors.sticky.sticky_assignor import (  # type: ignore[import-not-found]
        StickyPartitionAssignor,
    )

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from clients.adapters.aiokafka.consumer_settings import NAMES, WHY_NOT
    from clients.adapters.python_lib.verifiable import ConfigRefused, Record, java
    from clients.adapters.python_lib.verifiable.adapter import Applied, NotSet
    from clients.adapters.python_lib.verifiable.asynchronous import AsyncConsumerAdapter
    from clients.adapters.python_lib.verifiable.consumer import EARLIEST, LATEST, Place
else:
    from consumer_settings import NAMES, WHY_NOT
    from verifiable import ConfigRefused, Record, java
    from verifiable.asynchronous import AsyncConsumerAdapter
    from verifiable.consumer import EARLIEST, LATEST

ARGUMENTS = inspect.signature(aiokafka.AIOKafkaConsumer).parameters
ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}
FEATURES = (
    "consumer",
    "group",
    *(["static_membership"] if "group_instance_id" in ARGUMENTS else []),
    "read_committed",
    "assign",
    "seek",
    "pause",
    "pattern",
    "attempt",
)


class AiokafkaConsumer(AsyncConsumerAdapter):
    """An adapter for :class:`aiokafka.AIOKafkaConsumer`."""

    callbacks = ("assigned", "revoked")

    async def on_configure(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        names = {java: own for java, own in NAMES.items() if own.split(", ")[0] in ARGUMENTS}
        own, not_set = java.translate(config, names, (), WHY_NOT, ASSIGNORS)
        more = java.own_arguments(self.own, ARGUMENTS, own, self.own_not_set)
        self._is_started = False
        self._begin: Callable[[], Awaitable[None]] | None = None
        try:
            self._consumer = aiokafka.AIOKafkaConsumer(**more, **java.arguments(own))
        except (ValueError, TypeError, RuntimeError) as error:
            raise ConfigRefused(str(error)) from error
        try:
            await self._started()
        except Exception as error:
            logging.warning("not started yet: %r", error)
        return java.applied(own, not_set), not_set

    async def on_subscribe(self, topics: Sequence[str], pattern: str | None) -> None:
        wanted = {"topics": list(topics)} if pattern is None else {"pattern": rf"(?:{pattern})\Z"}

        async def begin() -> None:
            self._consumer.subscribe(listener=_Listener(self), **wanted)

        await self._begin_with(begin)

    async def on_assign(self, positions: Mapping[Place, int]) -> None:
        async def begin() -> None:
            self._consumer.assign(list(map(_partition, positions)))
            for place, offset in positions.items():
                if offset != LATEST:
                    await self.on_seek(place, offset)

        await self._begin_with(begin)

    async def on_unsubscribe(self) -> None:
        async def begin() -> None:
            self._consumer.unsubscribe()

        await self._begin_with(begin)

    async def on_poll(self, timeout_s: float) -> Sequence[Record]:
        await self._started()
        batches = await self._consumer.getmany(timeout_ms=int(timeout_s * 1000))
        return [_record(record) for records in batches.values() for record in records]

    async def on_commit(self, offsets: Mapping[Place, int]) -> None:
        await self._consumer.commit({_partition(place): offset for place, offset in offsets.items()})

    async def on_seek(self, place: Place, offset: int) -> None:
        partition = _partition(place)
        if offset == EARLIEST:
            await self._consumer.seek_to_beginning(partition)
        elif offset == LATEST:
            await self._consumer.seek_to_end(partition)
        else:
            self._consumer.seek(partition, offset)

    async def on_pause(self, places: Collection[Place]) -> None:
        self._consumer.pause(*map(_partition, places))

    async def on_resume(self, places: Collection[Place]) -> None:
        self._consumer.resume(*map(_partition, places))

    async def on_close(self) -> None:
        await self._consumer.stop()

    async def assigned(self, partitions: Iterable[Any]) -> None:
        """Pass the listener's call on, with the membership, which has no public name."""
        coordinator = self._consumer._coordinator
        membership = (coordinator.generation, coordinator.member_id)
        await self.between_turns(self.application.assigned, map(tuple, partitions), *membership)

    async def revoked(self, partitions: Iterable[Any]) -> None:
        """Pass the listener's call on. The client also calls it before it has any partitions."""
        await self.between_turns(self.application.revoked, map(tuple, partitions))

    async def _started(self) -> None:
        """Start the consumer, and begin what was requested before it could be started."""
        if not self._is_started:
            await self._consumer.start()
            self._is_started = True
        if self._begin is not None:
            begin, self._begin = self._begin, None
            await begin()

    async def _begin_with(self, begin: Callable[[], Awaitable[None]]) -> None:
        self._begin = begin
        if self._is_started:
            await self._started()


class _Listener(aiokafka.ConsumerRebalanceListener):  # type: ignore[misc]
    """Passes the client's callbacks on."""

    def __init__(self, adapter: AiokafkaConsumer) -> None:
        self._adapter = adapter

    async def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        await self._adapter.assigned(assigned)

    async def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        await self._adapter.revoked(revoked)


def _partition(place: Place) -> Any:
    return aiokafka.TopicPartition(*place)


def _record(record: Any) -> Record:
    return Record(record.topic, record.partition, record.offset, record.key, record.value)
