"""A member that closes says nothing to its group."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.group_member import DEFAULT, REMAIN_IN_GROUP
from clients.seeding.mutant import MOVES, Mutant


class Silent(ConsumerCoordinator):
    """Remains in the group, whatever it is told."""

    def close(self, timer: Timer, operation: str = DEFAULT) -> Call[None]:
        yield from super().close(timer, REMAIN_IN_GROUP)


MUTANT = Mutant(
    "does not leave its group when it closes",
    Components(coordinator=Silent),
    caught_by=("stays-after-close",),
    breaks=("CSM-API-05",),
    scenarios=MOVES,
)
