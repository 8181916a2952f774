"""A consumer with assigned partitions does not look for the coordinator that its group has moved to."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.coordinator_lookup import CoordinatorLookup
from clients.seeding.mutant import Mutant


class Faithful(CoordinatorLookup):
    """Keeps a coordinator until its connection fails."""

    def lost(self, why: str, *, is_disconnected: bool = False) -> None:
        if is_disconnected:
            super().lost(why, is_disconnected=is_disconnected)


class Member(ConsumerCoordinator):
    """A member that stays with its coordinator."""

    lookups = Faithful


MUTANT = Mutant(
    "commits to the old coordinator for ever if it has no subscription",
    Components(coordinator=Member),
    caught_by=("delivery/a_commit_without_subscription_names_no_member",),
    breaks=("CSM-OFC-05",),
)
