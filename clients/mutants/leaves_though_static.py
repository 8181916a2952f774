"""A static member leaves its group when it closes, as a dynamic one does."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.group_member import DEFAULT, LEAVE_GROUP
from clients.seeding.mutant import Mutant


class Leaving(ConsumerCoordinator):
    """Leaves the group, whatever it is told."""

    def close(self, timer: Timer, operation: str = DEFAULT) -> Call[None]:
        yield from super().close(timer, LEAVE_GROUP)


MUTANT = Mutant(
    "leaves its group when it closes, although it is static",
    Components(coordinator=Leaving),
    caught_by=("static-member-leaves",),
    breaks=("CSM-GRP-10",),
    scenarios=("group/leave-static",),
)
