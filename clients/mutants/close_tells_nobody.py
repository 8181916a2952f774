"""close() does not report that the partitions are given up."""

from __future__ import annotations

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.seeding.mutant import Mutant


class Member(ConsumerCoordinator):
    """A member that goes without a word to its application."""

    def on_leave_prepare(self) -> Call[None]:
        self._subscriptions.assign_from_subscribed([])
        return
        yield


MUTANT = Mutant(
    "closes without a call of the listener",
    Components(coordinator=Member),
    caught_by=("timeout_expiry/close_ends_by_its_limit",),
    breaks=("CSM-API-05",),
)
