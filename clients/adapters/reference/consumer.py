"""The consumer of the reference client as a client under test."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from re import compile as pattern_of
from typing import TYPE_CHECKING, Any

from clients.adapters.python_lib.verifiable import ConfigRefused, ConsumerAdapter, Record
from clients.adapters.python_lib.verifiable.consumer import EARLIEST, LATEST, Application
from clients.reference import KafkaConsumer, OffsetAndMetadata
from clients.reference.config.consumer_config import KEYS
from clients.reference.consumer.components import Components
from clients.reference.consumer.errors import ConsumerError
from harness.model.errors import UsageError

if TYPE_CHECKING:
    from clients.adapters.python_lib.verifiable.adapter import Applied, NotSet
    from clients.adapters.python_lib.verifiable.consumer import Place


class ReferenceConsumer(ConsumerAdapter):
    """An adapter for :class:`clients.reference.KafkaConsumer`."""

    def __init__(self, components: Components | None = None) -> None:
        self._components = components

    def configure(self, config: Mapping[str, Any]) -> tuple[Applied, NotSet]:
        known = {name: value for name, value in config.items() if name in KEYS}
        try:
            self._consumer = KafkaConsumer(known, components=self._components)
        except UsageError as error:
            raise ConfigRefused(str(error)) from error
        not_set = {name: "the reference client has no such setting" for name in config if name not in KEYS}
        return {name: (name, value) for name, value in known.items()}, not_set

    def subscribe(self, topics: Sequence[str], pattern: str | None) -> None:
        listener = _Listener(self.application, self._consumer)
        self._consumer.subscribe(topics if pattern is None else pattern_of(pattern), listener)

    def assign(self, positions: Mapping[Place, int]) -> None:
        self._consumer.assign(list(positions))
        for place, offset in positions.items():
            if offset != LATEST:
                self.seek(place, offset)

    def unsubscribe(self) -> None:
        self._consumer.unsubscribe()

    def poll(self, timeout_s: float) -> Sequence[Record]:
        return [
            Record(each.topic, each.partition, each.offset, each.key, each.value, each.leader_epoch)
            for each in self._consumer.poll(timeout_s)
        ]

    def commit(self, offsets: Mapping[Place, int]) -> None:
        self._consumer.commit_sync(_committed(offsets))

    def commit_async(self, offsets: Mapping[Place, int], done: Callable[[Exception | None], None]) -> None:
        self._consumer.commit_async(_committed(offsets), lambda _offsets, error: done(error))

    def seek(self, place: Place, offset: int) -> None:
        if offset == LATEST:
            self._consumer.seek_to_end([place])
        elif offset == EARLIEST:
            self._consumer.seek_to_beginning([place])
        else:
            self._consumer.seek(place, offset)

    def pause(self, places: Collection[Place]) -> None:
        self._consumer.pause(places)

    def resume(self, places: Collection[Place]) -> None:
        self._consumer.resume(places)

    def wakeup(self) -> None:
        self._consumer.wakeup()

    def close(self, timeout_s: float) -> bool:
        self._consumer.close(timeout_s)
        return True

    def describe(self, error: Exception) -> tuple[str, bool | None]:
        if isinstance(error, ConsumerError):
            return error.name, error.retriable
        return type(error).__name__, None


class _Listener:
    """Passes rebalances on to the application."""

    def __init__(self, application: Application, consumer: KafkaConsumer) -> None:
        self._application, self._consumer = application, consumer

    def on_partitions_assigned(self, partitions: Iterable[Place]) -> None:
        member = self._consumer.group_metadata()
        self._application.assigned(partitions, member.generation_id, member.member_id)

    def on_partitions_revoked(self, partitions: Iterable[Place]) -> None:
        self._application.revoked(partitions)

    def on_partitions_lost(self, partitions: Iterable[Place]) -> None:
        self._application.lost(partitions)


def _committed(offsets: Mapping[Place, int]) -> dict[Place, OffsetAndMetadata]:
    return {place: OffsetAndMetadata(offset) for place, offset in offsets.items()}
