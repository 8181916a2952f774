"""A synchronous commit returns before the callbacks of the commits before it have run."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.commit_responses import Offsets
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
from clients.seeding.mutant import Mutant


class Overtaking(OffsetCommits):
    """Leaves callbacks to the next poll."""

    is_committing = False

    def commit_sync(self, offsets: Offsets, timer: Timer) -> Call[bool]:
        self.is_committing = True
        try:
            return (yield from super().commit_sync(offsets, timer))
        finally:
            self.is_committing = False

    def run_callbacks(self) -> Call[None]:
        if not self.is_committing:
            yield from super().run_callbacks()


class Member(ConsumerCoordinator):
    """A member that calls back late."""

    commit_component = Overtaking


MUTANT = Mutant(
    "returns from a synchronous commit before the callbacks of earlier commits",
    Components(coordinator=Member),
    caught_by=("callback-order", "delivery/callbacks_of_commits_run_in_order"),
    breaks=("CSM-OFC-02",),
    scenarios=("group/commit-answer-late-then-sync",),
)
