"""A member of KIP-848 acknowledges an assignment although its listener has failed, and then raises the exception."""

from __future__ import annotations

from collections.abc import Callable, Collection

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.rebalance_listener import RebalanceListenerInvoker, raise_wrapped
from clients.reference.consumer.membership.membership_manager import MembershipManager
from clients.reference.consumer.subscription.positions import TopicPartition
from clients.seeding.mutant import Mutant


class Forgiving(RebalanceListenerInvoker):
    """Keeps an exception for later."""

    failure: Exception | None = None

    def _invoke(
        self, call: Callable[[list[TopicPartition]], None], partitions: Collection[TopicPartition]
    ) -> Call[Exception | None]:
        error = yield from super()._invoke(call, partitions)
        self.failure = self.failure or error
        return None


class Member(MembershipManager):
    """A member that is always content."""

    listener_component = Forgiving
    _listener: Forgiving

    def _reconcile(self) -> Call[None]:
        yield from super()._reconcile()
        failure, self._listener.failure = self._listener.failure, None
        raise_wrapped(failure)


MUTANT = Mutant(
    "acknowledges an assignment that its listener has refused",
    Components(membership=Member),
    caught_by=("refusal-acknowledged", "state_transitions/a_member_reconciles_in_order"),
    scenarios=("group/listener-throws-revoked-new-protocol", "group/listener-throws-assigned-new-protocol"),
    breaks=("CSM-NGP-08",),
)
