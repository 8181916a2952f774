"""The metadata and the leader epoch of a committed offset are not sent."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.commit_responses import Offsets
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.consumer.subscription.positions import OffsetAndMetadata
from clients.seeding.mutant import Mutant


class Bare(OffsetCommits):
    """Commits offsets alone."""

    def _send(self, offsets: Offsets) -> RequestFuture[None]:
        bare = {partition: OffsetAndMetadata(stored.offset) for partition, stored in offsets.items()}
        return super()._send(bare)


class Member(ConsumerCoordinator):
    """A member with plain commits."""

    commit_component = Bare


MUTANT = Mutant(
    "commits the offset without its metadata and leader epoch",
    Components(coordinator=Member),
    caught_by=("delivery/what_is_committed_comes_back",),
    breaks=("CSM-OFC-06",),
)
