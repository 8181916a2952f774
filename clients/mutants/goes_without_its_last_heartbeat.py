"""A member of KIP-848 that closes does not say that it leaves."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.membership.heartbeat_manager import HeartbeatManager
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.seeding.mutant import Mutant


class Silent(HeartbeatManager):
    """Has no last heartbeat."""

    def leave(self, generation: Generation, epoch: int) -> None:
        """Do nothing."""


class Member(MembershipManager):
    """A member that is gone."""

    heartbeat_component = Silent


MUTANT = Mutant(
    "closes without the heartbeat that leaves the group",
    Components(membership=Member),
    caught_by=("state_transitions/a_member_says_that_it_joins_and_leaves",),
    breaks=("CSM-NGP-01",),
)
