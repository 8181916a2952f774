"""A new owner of a partition begins at the start of the log, although the group has a committed offset."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_fetches import OffsetFetches
from clients.seeding.mutant import MOVES, Mutant


class Unasked(OffsetFetches):
    """Asks for no committed offset, so that auto.offset.reset decides, which is earliest."""

    def initialize_positions(self, timer: Timer) -> Call[bool]:
        yield from ()
        return True


class Member(ConsumerCoordinator):
    """A member that begins with the oldest record."""

    fetch_component = Unasked


MUTANT = Mutant(
    "begins at the start of the log although the group has a committed offset",
    Components(coordinator=Member),
    caught_by=("redelivered",),
    breaks=("CSM-FET-11", "E2E-DEL-07"),
    scenarios=MOVES,
)
