"""A member of KIP-848 whose application hangs keeps its partitions forever."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.membership.heartbeat_manager import HeartbeatManager
from clients.reference.consumer.membership.heartbeat_times import HeartbeatTimes
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.seeding.mutant import Mutant


class Indulgent(HeartbeatTimes):
    """Does not watch the application."""

    def polled(self) -> None:
        self._poll_ends_ms = 2**62


class Heartbeats(HeartbeatManager):
    """Heartbeats that nothing ends."""

    times_component = Indulgent


class Member(MembershipManager):
    """A member with all the time of the world."""

    heartbeat_component = Heartbeats


MUTANT = Mutant(
    "stays in a group of KIP-848 although its application does not poll",
    Components(membership=Member),
    caught_by=("stays-unpolled", "state_transitions/a_member_of_kip_848_that_is_not_polled_leaves"),
    scenarios=("group/late-poll-new-protocol",),
    breaks=("CSM-NGP-07",),
)
