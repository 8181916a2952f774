"""The consumer of kafka-python. Its listener runs inside ``poll()``, on the application's thread or while it waits.

Like the producer's, the constructor connects to a broker and raises if none answers. The next poll then calls it
again. Before 2.1, ``poll()`` waits for the group's coordinator without a timeout.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import kafka  # type: ignore[import-not-found]
from kafka import errors
from kafka.coordinator.assignors.range import RangePartitionAssignor  # type: ignore[import-not-found]
from kafka.coordinator.assignors.roundrobin import (  # type: ignore[import-not-found]
    RoundRobinPartitionAssignor,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from clients.adapters.kafka_python.consumer_settings import WHY_NOT, blocking, give_way, names
    from clients.adapters.python_lib.verifiable import ConfigRefused, ConsumerAdapter, Record, java
    from clients.adapters.python_lib.verifiable.adapter import Applied, NotSet
    from clients.adapters.python_lib.verifiable.consumer import EARLIEST, LATEST, Application, Place
else:
    from consumer_settings import WHY_NOT, blocking, give_way, names
    from verifiable import ConfigRefused, ConsumerAdapter, Record, java
    from verifiable.consumer import EARLIEST, LATEST

DEFAULTS = kafka.KafkaConsumer.DEFAULT_CONFIG

UNKNOWN_EPOCH = -1


def assignors() -> dict[str, Any]:
    """Return the assignors of this version, by their names in the group protocol."""
    found = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}
    try:
        from kafka.coordinator.assignors.sticky.sticky_assignor import (  # type: ignore[import-not-found]
            StickyPartitionAssignor,
        )

        found["sticky"] = StickyPartitionAssignor
        from kafka.coordinator.assignors.cooperative_sticky import (  # type: ignore[import-not-found]
            CooperativeStickyAssignor,
        )

        found["cooperative-sticky"] = CooperativeStickyAssignor
    except ImportError:
        pass  # sticky since 2.0.0, cooperative-sticky since 3.0.0
    return found


def features() -> tuple[str, ...]:
    """Return what the consumer of this version can do."""
    usual = ("consumer", "group", "assign", "seek", "pause", "pattern", "attempt")
    newer = {
        "cooperative": "cooperative-sticky" in assignors(),
        "static_membership": "group_instance_id" in DEFAULTS,
        "read_committed": "isolation_level" in DEFAULTS,
    }
    return (*usual, *(name for name, there in newer.items() if there))


class KafkaPythonConsumer(ConsumerAdapter):
    """An adapter for :class:`kafka.KafkaConsumer`."""

    callbacks = (
        "assigned",
        "revoked",
        *(["lost"] if hasattr(kafka.ConsumerRebalanceListener, "on_partitions_lost") else []),
    )

    def configure(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        own, not_set = java.translate(config, names(DEFAULTS), (), WHY_NOT, assignors())
        give_way(own, not_set, kafka.__version__)
        more = java.own_arguments(self.own, DEFAULTS, own, self.own_not_set)
        fixed = {"default_offset_commit_callback": self._committed, **blocking(DEFAULTS)}
        self._arguments = {**fixed, **more, **java.arguments(own)}
        self._made: Any = None
        self._begin: Callable[[Any], None] | None = None
        try:
            self._consumer()
        except errors.KafkaConfigurationError as error:
            raise ConfigRefused(str(error)) from error
        except errors.KafkaError as error:
            logging.warning("no consumer yet: %r", error)
        except (AssertionError, TypeError, ValueError, RuntimeError) as error:
            raise ConfigRefused(str(error)) from error
        return java.applied(own, not_set), not_set

    def subscribe(self, topics: Sequence[str], pattern: str | None) -> None:
        listener = _Listener(self.application, self._membership)
        wanted = {"pattern": rf"(?:{pattern})\Z"} if pattern is not None else {"topics": list(topics)}
        self._begin_with(lambda consumer: consumer.subscribe(listener=listener, **wanted))

    def assign(self, positions: Mapping[Place, int]) -> None:
        def begin(consumer: Any) -> None:
            consumer.assign([kafka.TopicPartition(*place) for place in positions])
            for place, offset in positions.items():
                if offset != LATEST:
                    _seek(consumer, place, offset)

        self._begin_with(begin)

    def unsubscribe(self) -> None:
        self._begin_with(lambda consumer: consumer.unsubscribe())

    def poll(self, timeout_s: float) -> Sequence[Record]:
        batches = self._consumer().poll(timeout_ms=int(timeout_s * 1000))
        return [_record(record) for records in batches.values() for record in records]

    def commit(self, offsets: Mapping[Place, int]) -> None:
        self._consumer().commit(_metadata(offsets))

    def commit_async(self, offsets: Mapping[Place, int], done: Callable[[Exception | None], None]) -> None:
        def settled(_offsets: Any, answer: Any) -> None:
            done(answer if isinstance(answer, Exception) else None)

        self._consumer().commit_async(_metadata(offsets), callback=settled)

    def seek(self, place: Place, offset: int) -> None:
        _seek(self._consumer(), place, offset)

    def pause(self, places: Collection[Place]) -> None:
        self._consumer().pause(*(kafka.TopicPartition(*place) for place in places))

    def resume(self, places: Collection[Place]) -> None:
        self._consumer().resume(*(kafka.TopicPartition(*place) for place in places))

    def close(self, timeout_s: float) -> bool:
        if self._made is not None:
            self._made.close()
        return True

    def _consumer(self) -> Any:
        """Return the consumer, and begin what was requested before it could be made."""
        if self._made is None:
            self._made = kafka.KafkaConsumer(**self._arguments)
        if self._begin is not None:
            begin, self._begin = self._begin, None
            begin(self._made)
        return self._made

    def _begin_with(self, begin: Callable[[Any], None]) -> None:
        self._begin = begin
        if self._made is not None:
            self._consumer()

    def _membership(self) -> tuple[int, str]:
        generation = self._made._coordinator._generation  # there is no public name before 3.0
        return generation.generation_id, generation.member_id

    def _committed(self, offsets: Mapping[Any, Any], answer: Any) -> None:
        error = type(answer).__name__ if isinstance(answer, Exception) else None
        self.application.committed({tuple(place): each.offset for place, each in offsets.items()}, error)


class _Listener(kafka.ConsumerRebalanceListener):  # type: ignore[misc]
    """Passes the client's callbacks on."""

    def __init__(self, application: Application, membership: Callable[[], tuple[int, str]]) -> None:
        self._application, self._membership = application, membership

    def on_partitions_assigned(self, assigned: Iterable[Any]) -> None:
        self._application.assigned(map(tuple, assigned), *self._membership())

    def on_partitions_revoked(self, revoked: Iterable[Any]) -> None:
        self._application.revoked(map(tuple, revoked))

    def on_partitions_lost(self, lost: Iterable[Any]) -> None:
        self._application.lost(map(tuple, lost))


def _record(record: Any) -> Record:
    epoch = getattr(record, "leader_epoch", UNKNOWN_EPOCH)
    known = epoch if epoch is not None and epoch >= 0 else None
    return Record(record.topic, record.partition, record.offset, record.key, record.value, known)


def _metadata(offsets: Mapping[Place, int]) -> dict[Any, Any]:
    """Return the offsets in the client's type, whose leader epoch exists since 2.1."""
    kind = kafka.OffsetAndMetadata
    more = ("", UNKNOWN_EPOCH)[: len(kind._fields) - 1]
    return {kafka.TopicPartition(*place): kind(offset, *more) for place, offset in offsets.items()}


def _seek(consumer: Any, place: Place, offset: int) -> None:
    partition = kafka.TopicPartition(*place)
    if offset == EARLIEST:
        consumer.seek_to_beginning(partition)
    elif offset == LATEST:
        consumer.seek_to_end(partition)
    else:
        consumer.seek(partition, offset)
