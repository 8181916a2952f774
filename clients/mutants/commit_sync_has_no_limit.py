"""A synchronous commit goes on after its own limit, until that of all calls."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.commit_responses import Offsets
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
from clients.seeding.mutant import Mutant


class Endless(OffsetCommits):
    """Ignores the caller's timer."""

    def commit_sync(self, offsets: Offsets, timer: Timer) -> Call[bool]:
        timer.reset(60_000)
        return (yield from super().commit_sync(offsets, timer))


class Member(ConsumerCoordinator):
    """A member that must commit."""

    commit_component = Endless


MUTANT = Mutant(
    "ignores the timeout of a synchronous commit",
    Components(coordinator=Member),
    caught_by=("call-overdue", "delivery/a_synchronous_commit_ends_at_its_limit"),
    breaks=("CSM-API-04",),
    scenarios=("consume/partition-beyond-calls",),
)
