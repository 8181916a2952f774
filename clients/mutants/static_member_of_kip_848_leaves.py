"""A static member of KIP-848 leaves for good when it closes."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.generation import Generation
from clients.reference.consumer.coordinator.group_requests import Build
from clients.reference.consumer.membership.heartbeat_contents import LEAVES, HeartbeatContents
from clients.reference.consumer.membership.heartbeat_manager import HeartbeatManager
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.seeding.mutant import Mutant


class Final(HeartbeatContents):
    """Knows one way to leave."""

    def leave(self, generation: Generation, epoch: int) -> Build:
        return super().leave(generation, LEAVES)


class Heartbeats(HeartbeatManager):
    """Heartbeats that end for good."""

    contents_component = Final


class Member(MembershipManager):
    """A member that does not come back."""

    heartbeat_component = Heartbeats


MUTANT = Mutant(
    "leaves with epoch -1 although it is static",
    Components(membership=Member),
    caught_by=("state_transitions/a_member_says_that_it_joins_and_leaves",),
    breaks=("CSM-NGP-01",),
)
