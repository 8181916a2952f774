"""Offsets are committed automatically by each poll, whatever the interval is."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
from clients.seeding.mutant import Mutant


class Frequent(OffsetCommits):
    """Commits each time that it could."""

    def maybe_auto_commit(self) -> None:
        if self._config.enable_auto_commit:
            self.auto_commit()


class Member(ConsumerCoordinator):
    """A member that commits and commits."""

    commit_component = Frequent


MUTANT = Mutant(
    "ignores auto.commit.interval.ms",
    Components(coordinator=Member),
    caught_by=("delivery/automatic_commits_keep_their_interval",),
    breaks=("CSM-ACM-02",),
)
