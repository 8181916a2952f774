"""A commit stores an offset one beyond the next record, which the next owner therefore never gets."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.coordinator.commit_responses import Offsets
from clients.reference.consumer.coordinator.consumer_coordinator import ConsumerCoordinator
from clients.reference.consumer.coordinator.offset_commits import OffsetCommits
from clients.reference.consumer.request_future import RequestFuture
from clients.reference.consumer.subscription.positions import OffsetAndMetadata
from clients.seeding.mutant import MOVES, Mutant


class OneMore(OffsetCommits):
    """Adds one to each offset that it sends."""

    def _send(self, offsets: Offsets) -> RequestFuture[None]:
        return super()._send(
            {
                partition: OffsetAndMetadata(at.offset + 1, at.metadata, at.leader_epoch)
                for partition, at in offsets.items()
            }
        )


class Member(ConsumerCoordinator):
    """A member that commits too much."""

    commit_component = OneMore


MUTANT = Mutant(
    "commits the offset after the one that is due",
    Components(coordinator=Member),
    caught_by=("skipped", "committed-early"),
    breaks=("E2E-DEL-04", "CSM-OFC-06"),
    scenarios=MOVES,
)
