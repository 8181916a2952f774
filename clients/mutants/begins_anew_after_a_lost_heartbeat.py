"""A member of KIP-848 joins again when the answer to a heartbeat is lost, and causes a rebalance."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.membership.heartbeat_manager import HeartbeatManager
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.reference.consumer.membership.membership_states import MembershipState
from clients.seeding.mutant import Mutant


class Anxious(HeartbeatManager):
    """Takes a lost answer for the end."""

    def _failed(self, error: Exception, incarnation: int) -> None:
        if incarnation == self._member.incarnation and self._member.state is MembershipState.STABLE:
            self._member.fence("a heartbeat was lost")
        else:
            super()._failed(error, incarnation)


class Member(MembershipManager):
    """A member that is easily lost."""

    heartbeat_component = Anxious


MUTANT = Mutant(
    "joins again with epoch 0 after a lost heartbeat",
    Components(membership=Member),
    caught_by=("rejoins-after-loss", "state_transitions/a_heartbeat_says_everything_after_a_failure"),
    scenarios=("group/epoch-answers-lost",),
    breaks=("CSM-NGP-06",),
)
