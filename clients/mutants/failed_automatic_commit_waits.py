"""An automatic commit that failed for the moment is repeated after the whole interval only."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant


class Slow(OffsetCommits):
    """Does not look at the result."""

    def auto_commit(self) -> RequestFuture[None]:
        return self._commit_async(self._subscriptions.all_consumed(), None)


class Member(ConsumerCoordinator):
    """A member that takes its time."""

    commit_component = Slow


MUTANT = Mutant(
    "repeats a failed automatic commit only after the interval",
    Components(coordinator=Member),
    caught_by=("delivery/an_automatic_commit_that_fails_comes_again",),
    breaks=("CSM-ACM-03",),
)
