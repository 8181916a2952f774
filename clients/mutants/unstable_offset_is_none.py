"""An offset that an open transaction holds back counts as no offset."""

from __future__ import annotations

from collections.abc import Collection

from clients.reference.common.requests import Message
from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_fetches import Committed, OffsetFetches
from clients.reference.consumer.errors import UnstableOffsetCommitError
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.seeding.mutant import Mutant


class Unsteady(OffsetFetches):
    """Waits for no transaction."""

    def fetch(self, partitions: Collection[TopicPartition], timer: Timer) -> Call[Committed | None]:
        try:
            return (yield from super().fetch(partitions, timer))
        except UnstableOffsetCommitError:
            return {}

    def _read(self, group: Message, future: RequestFuture[Committed]) -> None:
        read: RequestFuture[Committed] = RequestFuture()
        super()._read(group, read)
        if read.failed and isinstance(read.error, UnstableOffsetCommitError):
            future.complete({})
        else:
            read.chain(future)


class Member(ConsumerCoordinator):
    """A member that does not wait."""

    fetch_component = Unsteady


MUTANT = Mutant(
    "begins by its reset policy while a transaction holds its committed offset back",
    Components(coordinator=Member),
    caught_by=("stored-offset-overlooked", "delivery/a_stable_offset_is_asked_for_until_it_comes"),
    breaks=("CSM-OFC-07",),
    scenarios=("group/offsets-unstable",),
)
