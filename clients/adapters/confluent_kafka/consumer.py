"""The consumer of confluent-kafka. Its callbacks run inside ``poll()``, between any two records.

A turn takes several records by as many polls. If partitions are revoked in the middle, the application first processes
what it has, because it could not commit it afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import confluent_kafka  # type: ignore[import-not-found]

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from clients.adapters.confluent_kafka.building import LIBRARY_VERSION, build
    from clients.adapters.confluent_kafka.consumer_settings import WITHOUT_GROUP, translate
    from clients.adapters.python_lib.verifiable import ConsumerAdapter, Record
    from clients.adapters.python_lib.verifiable.adapter import Applied, NotSet
    from clients.adapters.python_lib.verifiable.consumer import LATEST, Place
else:
    from building import LIBRARY_VERSION, build
    from consumer_settings import WITHOUT_GROUP, translate
    from verifiable import ConsumerAdapter, Record
    from verifiable.consumer import LATEST

#: KIP-848 is ready for use since this version of librdkafka.
CONSUMER_PROTOCOL_SINCE = (2, 12)
MAX_POLL_RECORDS = 500  # Java's default
NOTHING_TO_COMMIT = "_NO_OFFSET"

FEATURES = (
    "consumer",
    "group",
    "cooperative",
    *(
        ["consumer_protocol"]
        if tuple(map(int, LIBRARY_VERSION.split(".")[:2])) >= CONSUMER_PROTOCOL_SINCE
        else []
    ),
    "static_membership",
    "read_committed",
    "assign",
    "seek",
    "pause",
    "pattern",
    "attempt",
)


class ConfluentKafkaConsumer(ConsumerAdapter):
    """An adapter for :class:`confluent_kafka.Consumer`."""

    def configure(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        wanted, not_set = translate(config)
        fixed = {} if "group.id" in wanted else WITHOUT_GROUP
        self._most = int(config.get("max.poll.records", MAX_POLL_RECORDS))
        self._taken: list[Record] = []
        self._failure: Exception | None = None
        #: Offsets of commits in progress, and what learns of each result.
        self._commits: list[tuple[dict[Place, int], Callable[[Exception | None], None]]] = []

        def make(properties: dict[str, Any]) -> Any:
            return confluent_kafka.Consumer({**fixed, **properties, "on_commit": self._committed})

        self._consumer, applied = build(make, wanted, not_set, self.own, self.own_not_set)
        return applied, not_set

    def subscribe(self, topics: Sequence[str], pattern: str | None) -> None:
        # librdkafka takes a topic with ^ for a pattern, which need not match as a whole.
        wanted = topics if pattern is None else [f"^({pattern.lstrip('^').rstrip('$')})$"]
        self._consumer.subscribe(
            list(wanted), on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )

    def assign(self, positions: Mapping[Place, int]) -> None:
        self._consumer.assign(
            [
                _partition(place) if offset == LATEST else _partition(place, offset)
                for place, offset in positions.items()
            ]
        )

    def unsubscribe(self) -> None:
        if self._consumer.assignment():
            self._consumer.unassign()
        self._consumer.unsubscribe()

    def poll(self, timeout_s: float) -> Sequence[Record]:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        try:
            message = self._consumer.poll(timeout_s)
            while message is not None and len(self._taken) < self._most:
                if message.error() is not None:
                    raise confluent_kafka.KafkaException(message.error())
                self._taken.append(_record(message))
                message = self._consumer.poll(0) if len(self._taken) < self._most else None
        except Exception as failure:
            if not self._taken:
                raise
            self._failure = failure  # the records come first
        taken, self._taken = self._taken, []
        return taken

    def commit(self, offsets: Mapping[Place, int]) -> None:
        wanted = [_partition(*each) for each in offsets.items()]
        for partition in self._consumer.commit(offsets=wanted, asynchronous=False):
            if partition.error is not None:
                raise confluent_kafka.KafkaException(partition.error)

    def commit_async(self, offsets: Mapping[Place, int], done: Callable[[Exception | None], None]) -> None:
        self._consumer.commit(offsets=[_partition(*each) for each in offsets.items()], asynchronous=True)
        self._commits.append((dict(offsets), done))

    def seek(self, place: Place, offset: int) -> None:
        self._consumer.seek(_partition(place, offset))

    def pause(self, places: Collection[Place]) -> None:
        self._consumer.pause(list(map(_partition, places)))

    def resume(self, places: Collection[Place]) -> None:
        self._consumer.resume(list(map(_partition, places)))

    def close(self, timeout_s: float) -> bool:
        self._consumer.close()
        return True

    def describe(self, error: Exception) -> tuple[str, bool | None]:
        if isinstance(error, confluent_kafka.KafkaException):
            return error.args[0].name(), error.args[0].retriable()
        return super().describe(error)

    def _assigned(self, consumer: Any, partitions: Iterable[Any]) -> None:
        self.application.assigned(_places(partitions), member_id=consumer.memberid() or "")

    def _revoked(self, _consumer: Any, partitions: Iterable[Any]) -> None:
        taken, self._taken = self._taken, []
        self.application.revoked(_places(partitions), taken)

    def _lost(self, _consumer: Any, partitions: Iterable[Any]) -> None:
        taken, self._taken = self._taken, []
        self.application.lost(_places(partitions), taken)

    def _committed(self, error: Any, partitions: Iterable[Any]) -> None:
        """Pass the result of a commit on. It is automatic unless the application has begun one of these offsets."""
        offsets = {(each.topic, each.partition): each.offset for each in partitions if each.offset >= 0}
        failed = error or next((each.error for each in partitions if each.error is not None), None)
        asked = next((each for each in self._commits if each[0] == offsets), None)
        if asked is not None:
            self._commits.remove(asked)
            asked[1](None if failed is None else confluent_kafka.KafkaException(failed))
        elif failed is None or failed.name() != NOTHING_TO_COMMIT:
            self.application.committed(offsets, None if failed is None else failed.name())


def _partition(place: Place, *offset: int) -> Any:
    return confluent_kafka.TopicPartition(*place, *offset)


def _places(partitions: Iterable[Any]) -> list[Place]:
    return [(each.topic, each.partition) for each in partitions]


def _record(message: Any) -> Record:
    epoch = message.leader_epoch() if hasattr(message, "leader_epoch") else None
    known = epoch if epoch is not None and epoch >= 0 else None
    return Record(
        message.topic(), message.partition(), message.offset(), message.key(), message.value(), known
    )
