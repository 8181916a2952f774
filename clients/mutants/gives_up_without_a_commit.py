"""Partitions are given up without the automatic commit of what was read."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.seeding.mutant import Mutant


class Member(ConsumerCoordinator):
    """A member that commits by the clock alone."""

    def _commit_before_join(self, timer: Timer) -> Call[bool]:
        return True
        yield


MUTANT = Mutant(
    "gives its partitions up without the last automatic commit",
    Components(coordinator=Member),
    caught_by=("auto-commit-pace", "delivery/what_was_read_is_committed_before_it_is_given_up"),
    breaks=("CSM-ACM-02",),
    scenarios=("group/auto-commit-join",),
)
