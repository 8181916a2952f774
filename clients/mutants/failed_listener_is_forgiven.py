"""A member of KIP-848 acknowledges an assignment although its listener has failed."""

from __future__ import annotations

from collections.abc import Callable, Collection

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.rebalance_listener import RebalanceListenerInvoker
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.seeding.mutant import Mutant


class Forgiving(RebalanceListenerInvoker):
    """Passes no exception on."""

    def _invoke(
        self, call: Callable[[list[TopicPartition]], None], partitions: Collection[TopicPartition]
    ) -> Call[Exception | None]:
        yield from super()._invoke(call, partitions)
        return None


class Member(MembershipManager):
    """A member that is always content."""

    listener_component = Forgiving


MUTANT = Mutant(
    "acknowledges an assignment that its listener has refused",
    Components(membership=Member),
    caught_by=("state_transitions/a_member_reconciles_in_order",),
    breaks=("CSM-NGP-08",),
)
