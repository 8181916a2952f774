"""A member that is not polled only stops its heartbeats, and the group waits for the session timeout."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.group_member import DEFAULT, REMAIN_IN_GROUP
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant


class Member(ConsumerCoordinator):
    """A member that goes without a word."""

    def maybe_leave_group(self, reason: str, operation: str = DEFAULT) -> RequestFuture[None] | None:
        return super().maybe_leave_group(reason, REMAIN_IN_GROUP)


MUTANT = Mutant(
    "does not say that it leaves when its application does not poll",
    Components(coordinator=Member),
    caught_by=("stays-without-polls", "timeout_expiry/a_member_that_is_not_polled_leaves"),
    scenarios=("group/late-poll",),
    breaks=("CSM-GRP-09",),
)
