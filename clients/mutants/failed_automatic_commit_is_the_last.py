"""After an automatic commit has failed, there are no more."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
from clients.reference.consumer.request_future import RequestFuture
from clients.seeding.mutant import Mutant

NEVER_MS = 2**62


class Discouraged(OffsetCommits):
    """Puts the next automatic commit off forever."""

    def auto_commit(self) -> RequestFuture[None]:
        def failed(_: Exception) -> None:
            self._auto_commit_ms = NEVER_MS

        future = super().auto_commit()
        future.add_listener(lambda _: None, failed)
        return future


class Member(ConsumerCoordinator):
    """A member that takes a failure to heart."""

    commit_component = Discouraged


MUTANT = Mutant(
    "commits nothing automatically any more once that has failed",
    Components(coordinator=Member),
    caught_by=("auto-commit-failure",),
    breaks=("CSM-ACM-03",),
    scenarios=("group/auto-commit-refused",),
)
