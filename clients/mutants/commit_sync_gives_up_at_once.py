"""A synchronous commit fails with the first error, also if the same commit may succeed a moment later."""

from __future__ import annotations

from clients.reference.consumer.calls import Call, Timer
from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.commit_responses import Offsets
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
from clients.seeding.mutant import Mutant


class Impatient(OffsetCommits):
    """Raises the first error."""

    def commit_sync(self, offsets: Offsets, timer: Timer) -> Call[bool]:
        future = self._send(offsets)
        yield from self._client.await_future(future, timer)
        if future.failed:
            raise future.error
        return future.succeeded


class Member(ConsumerCoordinator):
    """A member that tries once."""

    commit_component = Impatient


MUTANT = Mutant(
    "does not repeat a synchronous commit that failed for the moment",
    Components(coordinator=Member),
    caught_by=("commit-given-up", "delivery/a_synchronous_commit_is_repeated"),
    breaks=("CSM-OFC-01",),
    scenarios=("group/commit-elsewhere",),
)
