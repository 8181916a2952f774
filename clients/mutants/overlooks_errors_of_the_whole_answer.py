"""An OffsetFetch answer that has an error and no partitions looks like a group without offsets."""

from __future__ import annotations

from clients.reference.common.requests import Message
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.coordinator.group_requests import group_of
from clients.reference.consumer.coordinator.offset_fetches import Committed, OffsetFetches
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant


class Superficial(OffsetFetches):
    """Looks at partitions only."""

    def _answered(self, body: Message, future: RequestFuture[Committed], sent: Generation) -> None:
        self._read(group_of(body), future)


class Member(ConsumerCoordinator):
    """A member that overlooks errors."""

    fetch_component = Superficial


MUTANT = Mutant(
    "takes a refused lookup of committed offsets for a group without offsets",
    Components(coordinator=Member),
    caught_by=("stored-offset-overlooked", "delivery/a_stable_offset_is_asked_for_until_it_comes"),
    breaks=("CSM-OFC-07",),
    scenarios=("group/offsets-refused",),
)
