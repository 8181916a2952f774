"""A member of KIP-848 sends the next heartbeat while the last one has no answer."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.membership.heartbeat_manager import HeartbeatManager
from clients.reference.consumer.membership.heartbeat_times import HeartbeatTimes
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.seeding.mutant import Mutant


class Parallel(HeartbeatTimes):
    """Waits only for every second answer."""

    _under_way = 0

    def sent(self) -> None:
        super().sent()
        self._under_way += 1
        self.is_outstanding = self._under_way > 1

    def ended(self) -> None:
        super().ended()
        self._under_way = 0


class Heartbeats(HeartbeatManager):
    """Heartbeats that overlap."""

    times_component = Parallel


class Member(MembershipManager):
    """A member with two hearts."""

    heartbeat_component = Heartbeats


MUTANT = Mutant(
    "sends a heartbeat while another one is outstanding",
    Components(membership=Member),
    caught_by=("heartbeat-pace", "state_transitions/one_heartbeat_is_outstanding"),
    scenarios=("group/epoch-answer-late",),
    breaks=("CSM-NGP-02",),
)
