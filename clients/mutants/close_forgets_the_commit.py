"""close() leaves the group without the automatic commit of what was read."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
from clients.seeding.mutant import Mutant


class Curt(OffsetCommits):
    """Commits nothing at the end."""

    def auto_commit_sync(self, timer: Timer) -> Call[None]:
        return
        yield


class Member(ConsumerCoordinator):
    """A member that leaves in a hurry."""

    commit_component = Curt


MUTANT = Mutant(
    "closes without the last automatic commit",
    Components(coordinator=Member),
    caught_by=("delivery/what_was_read_is_committed_before_it_is_given_up",),
    breaks=("CSM-API-05",),
)
