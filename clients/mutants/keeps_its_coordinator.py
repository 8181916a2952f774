"""A broker that is not the coordinator any more is asked again, instead of looking for the new coordinator."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.coordinator_lookup import CoordinatorLookup
from clients.seeding.mutant import Mutant


class Loyal(CoordinatorLookup):
    """Loses a coordinator only with its connection."""

    def lost(self, why: str, *, is_disconnected: bool = False) -> None:
        if is_disconnected:
            super().lost(why, is_disconnected=True)


class Member(ConsumerCoordinator):
    """A member that does not follow its group to another broker."""

    lookups = Loyal


MUTANT = Mutant(
    "goes on asking a broker that is not its coordinator any more",
    Components(coordinator=Member),
    caught_by=("coordinator-not-sought", "delivery/a_commit_without_subscription_names_no_member"),
    breaks=("CSM-GRP-01", "CSM-OFC-05"),
    scenarios=("group/coordinator-moves",),
)
