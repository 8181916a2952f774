"""A synchronous commit that failed is repeated at once, again and again."""

from __future__ import annotations

from typing import Any

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
from clients.seeding.mutant import Mutant


class NoPause:
    """In the place of a backoff."""

    def delay_ms(self, attempts: int) -> int:
        """Return 1: the network needs a moment."""
        return 1


class Hammering(OffsetCommits):
    """Has no backoff."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._backoff: Any = NoPause()


class Member(ConsumerCoordinator):
    """A member that tries as often as it can."""

    commit_component = Hammering


MUTANT = Mutant(
    "repeats a failed synchronous commit without a pause",
    Components(coordinator=Member),
    caught_by=("delivery/a_synchronous_commit_is_repeated",),
    breaks=("CSM-OFC-01",),
)
