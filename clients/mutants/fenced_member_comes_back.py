"""A static member whose name another one has taken joins again, and the two fence each other in turn."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.errors import FencedInstanceIdError
from clients.seeding.mutant import Mutant


class Member(ConsumerCoordinator):
    """A member for which no error is fatal."""

    def _heartbeat_failed(self, error: Exception) -> None:
        if isinstance(error, FencedInstanceIdError):
            self.heartbeat.failed()
        else:
            super()._heartbeat_failed(error)


MUTANT = Mutant(
    "joins again after another member has taken its group.instance.id",
    Components(coordinator=Member),
    caught_by=("state_transitions/a_second_member_of_its_name_ends_the_first",),
    breaks=("CSM-GRP-10",),
)
