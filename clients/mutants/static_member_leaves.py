"""A static member leaves its group when it closes, so that its partitions move."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.group_member import DEFAULT, LEAVE_GROUP
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant


class Member(ConsumerCoordinator):
    """A member that always leaves."""

    def maybe_leave_group(self, reason: str, operation: str = DEFAULT) -> RequestFuture[None] | None:
        return super().maybe_leave_group(reason, LEAVE_GROUP)


MUTANT = Mutant(
    "leaves the group on close although it is a static member",
    Components(coordinator=Member),
    caught_by=("state_transitions/a_static_member_stays_in_the_group",),
    breaks=("CSM-GRP-10",),
)
