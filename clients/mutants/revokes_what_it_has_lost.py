"""Partitions that a fenced member has lost are reported as revoked."""

from __future__ import annotations

from collections.abc import Collection

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.rebalance_listener import RebalanceListenerInvoker
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.seeding.mutant import Mutant


class Unaware(RebalanceListenerInvoker):
    """Knows no losses."""

    def lost(self, partitions: Collection[TopicPartition]) -> Call[Exception | None]:
        return (yield from self.revoked(partitions))


class Member(MembershipManager):
    """A member that never loses anything."""

    listener_component = Unaware


MUTANT = Mutant(
    "reports the partitions of a fenced member as revoked",
    Components(membership=Member),
    caught_by=("state_transitions/a_fenced_member_loses_and_joins",),
    breaks=("CSM-GRP-12",),
)
