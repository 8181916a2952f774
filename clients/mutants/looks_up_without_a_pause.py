"""A lookup of the coordinator that failed is repeated at once."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.coordinator_lookup import CoordinatorLookup
from clients.seeding.mutant import Mutant


class Hasty(CoordinatorLookup):
    """Has no backoff."""

    def _back_off(self) -> None:
        self._look_again_ms = self._clock.now_ms + 1


class Member(ConsumerCoordinator):
    """A member that asks and asks."""

    lookups = Hasty


MUTANT = Mutant(
    "looks its coordinator up again without a backoff",
    Components(coordinator=Member),
    caught_by=("timeout_expiry/lookups_that_fail_wait_longer_each_time", "group-retry-spacing"),
    breaks=("CSM-GRP-01",),
    scenarios=("group/coordinator-unknown",),
)
