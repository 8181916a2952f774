"""A member of KIP-848 repeats heartbeats whatever the coordinator answers."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.seeding.mutant import Mutant


class Member(MembershipManager):
    """A member that does not give up."""

    def fail(self, error: Exception) -> None:
        self.heartbeats.times.failed()


MUTANT = Mutant(
    "goes on after errors that no repetition can heal",
    Components(membership=Member),
    caught_by=("fatal-error-survived", "state_transitions/some_errors_end_the_membership"),
    scenarios=("group/epoch-fatal",),
    breaks=("CSM-NGP-09",),
)
