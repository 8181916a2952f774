"""A member whose application hangs keeps its partitions forever."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.heartbeat import Heartbeat
from clients.seeding.mutant import Mutant


class Indulgent(Heartbeat):
    """Does not watch the application."""

    def polled(self) -> None:
        self.poll_ends_ms = 2**62


class Member(ConsumerCoordinator):
    """A member with all the time of the world."""

    heartbeat_clock = Indulgent


MUTANT = Mutant(
    "stays in the group although its application does not poll",
    Components(coordinator=Member),
    caught_by=("stays-without-polls", "timeout_expiry/a_member_that_is_not_polled_leaves"),
    scenarios=("group/late-poll",),
    breaks=("CSM-GRP-09",),
)
