"""The callbacks of asynchronous commits run in the reverse of their order."""

from __future__ import annotations

from clients.reference.consumer.calls import Call
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
from clients.seeding.mutant import Mutant


class Reversed(OffsetCommits):
    """Runs the newest callback first."""

    def run_callbacks(self) -> Call[None]:
        self._commits.reverse()
        try:
            yield from super().run_callbacks()
        finally:
            self._commits.reverse()


class Member(ConsumerCoordinator):
    """A member with callbacks in reverse."""

    commit_component = Reversed


MUTANT = Mutant(
    "runs the callbacks of commits in reverse order",
    Components(coordinator=Member),
    caught_by=("callback-order", "delivery/callbacks_of_commits_run_in_order"),
    breaks=("CSM-OFC-02",),
    scenarios=("group/commit-answer-late-async",),
)
