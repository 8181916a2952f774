"""A new owner begins by the reset policy, although the group has a committed offset."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_fetches import OffsetFetches
from clients.seeding.mutant import Mutant


class Forgetful(OffsetFetches):
    """Asks the group for nothing."""

    def initialize_positions(self, timer: Timer) -> Call[bool]:
        return True
        yield


class Member(ConsumerCoordinator):
    """A member without a past."""

    fetch_component = Forgetful


MUTANT = Mutant(
    "begins by its reset policy although the group has a committed offset",
    Components(coordinator=Member),
    caught_by=("delivery/a_new_owner_begins_where_the_group_is",),
    breaks=("CSM-FET-11",),
)
