"""A member of KIP-848 that was fenced goes on as if it were still in the group."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.seeding.mutant import Mutant


class Member(MembershipManager):
    """A member that stays."""

    def fence(self, error: str) -> None:
        self.heartbeats.times.failed()


MUTANT = Mutant(
    "goes on reading after the coordinator has fenced it",
    Components(membership=Member),
    caught_by=("fenced-member", "state_transitions/a_fenced_member_loses_and_joins"),
    scenarios=("group/epoch-fenced",),
    breaks=("CSM-NGP-05",),
)
