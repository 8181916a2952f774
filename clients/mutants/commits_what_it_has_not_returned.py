"""A commit stores the end of the log that the last Fetch response named, whatever the application has got of it."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.commit_responses import Offsets
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.consumer.subscription.positions import OffsetAndMetadata, TopicPartition
from clients.seeding.mutant import MOVES, Mutant


class Foresighted(OffsetCommits):
    """Commits up to the end of the log."""

    def _send(self, offsets: Offsets) -> RequestFuture[None]:
        return super()._send({partition: self._further(partition, at) for partition, at in offsets.items()})

    def _further(self, partition: TopicPartition, at: OffsetAndMetadata) -> OffsetAndMetadata:
        state = self._subscriptions.state(partition)
        end = state.high_watermark if state else None
        return at if end is None or end <= at.offset else OffsetAndMetadata(end)


class Member(ConsumerCoordinator):
    """A member that commits what it has not returned."""

    commit_component = Foresighted


MUTANT = Mutant(
    "commits the end of the log that the last Fetch response named",
    Components(coordinator=Member),
    caught_by=("skipped",),
    breaks=("E2E-DEL-04",),
    scenarios=MOVES,
)
