"""A new owner of a partition begins at the end of the log, although the group has a committed offset."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_fetches import OffsetFetches
from clients.seeding.mutant import MOVES, Mutant


class OnlyNews(OffsetFetches):
    """Looks up the end of the log if there is a committed offset."""

    def initialize_positions(self, timer: Timer) -> Call[bool]:
        committed = yield from self.fetch(self._subscriptions.initializing, timer)
        for partition, found in (committed or {}).items():
            if found is not None and self._subscriptions.is_assigned(partition):
                self._subscriptions.request_offset_reset(partition, "latest")
        return committed is not None


class Member(ConsumerCoordinator):
    """A member that begins with the news."""

    fetch_component = OnlyNews


MUTANT = Mutant(
    "begins at the end of the log although the group has a committed offset",
    Components(coordinator=Member),
    caught_by=("skipped",),
    breaks=("E2E-DEL-04",),
    scenarios=MOVES,
)
