"""A member of KIP-848 that is fenced joins again at once, and keeps reading what others may own."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.reference.consumer.membership.membership_states import MembershipEvent, MembershipState
from clients.reference.telemetry.trace import StateChanged
from clients.seeding.mutant import Mutant


class Member(MembershipManager):
    """A member that skips the loss."""

    def fence(self, error: str) -> None:
        super().fence(error)
        before, self.state = self.state, MembershipState.JOINING
        self._trace(
            StateChanged(
                at_ms=self._clock.now_ms,
                machine="membership",
                subject=self.group_id,
                before=before.told,
                cause=MembershipEvent.TARGET.told,
                after=self.state.told,
            )
        )


MUTANT = Mutant(
    "joins again before it has given up what it lost",
    Components(membership=Member),
    caught_by=("fenced-member", "state_transitions/members_of_kip_848_move_as_the_oracle_says"),
    scenarios=("group/epoch-fenced",),
    breaks=("CSM-NGP-05",),
)
