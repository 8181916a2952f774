"""A member of KIP-848 sends heartbeats in its own interval, and not in the broker's."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.membership.heartbeat_manager import HeartbeatManager
from clients.reference.consumer.membership.heartbeat_times import HeartbeatTimes
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.seeding.mutant import Mutant

OWN_MS = 3_000


class Own(HeartbeatTimes):
    """Knows the interval better."""

    def answered(self, interval_ms: int) -> None:
        super().answered(OWN_MS)


class Heartbeats(HeartbeatManager):
    """Heartbeats in an interval of their own."""

    times_component = Own


class Member(MembershipManager):
    """A member with a heart of its own."""

    heartbeat_component = Heartbeats


MUTANT = Mutant(
    "ignores the heartbeat interval of the broker",
    Components(membership=Member),
    caught_by=("heartbeat-pace", "state_transitions/heartbeats_keep_the_brokers_interval"),
    scenarios=("group/long-processing-new-protocol",),
    breaks=("CSM-NGP-02",),
)
