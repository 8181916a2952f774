"""Offsets are committed automatically ten times as often as auto.commit.interval.ms says."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
from clients.seeding.mutant import Mutant


class Frequent(OffsetCommits):
    """Shortens the interval."""

    def reset_auto_commit(self) -> None:
        self._auto_commit_ms = self._clock.now_ms + self._config.auto_commit_interval_ms // 10


class Member(ConsumerCoordinator):
    """A member that commits and commits."""

    commit_component = Frequent


MUTANT = Mutant(
    "commits automatically ten times as often as it is told",
    Components(coordinator=Member),
    caught_by=("auto-commit-pace", "delivery/automatic_commits_keep_their_interval"),
    breaks=("CSM-ACM-02",),
    scenarios=("group/auto-commit-join",),
)
