"""A commit of everything has the offset of the last record, which is therefore read again."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.consumer.components import Components
from clients.reference.consumer.subscription.positions import OffsetAndMetadata, TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.seeding.mutant import Mutant


class Behind(SubscriptionState):
    """Counts from the last record."""

    def all_consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        return {
            partition: replace(stored, offset=max(stored.offset - 1, 0))
            for partition, stored in super().all_consumed().items()
        }


MUTANT = Mutant(
    "commits the offset of the last record in place of the next one",
    Components(subscriptions=Behind),
    caught_by=("delivery/a_commit_of_everything_is_the_next_offset",),
    breaks=("CSM-OFC-06",),
)
