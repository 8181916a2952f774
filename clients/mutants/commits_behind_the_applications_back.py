"""Automatic commits happen by the clock, also while the application works on what a poll has returned."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.seeding.mutant import Mutant


class Member(ConsumerCoordinator):
    """A member that commits in the background."""

    def step(self) -> int | None:
        self.commits.maybe_auto_commit()
        return super().step()


MUTANT = Mutant(
    "commits automatically while the application works",
    Components(coordinator=Member),
    caught_by=("auto-commit-early", "delivery/without_another_poll_nothing_is_committed"),
    breaks=("CSM-ACM-01",),
    scenarios=("group/auto-commit-join",),
)
