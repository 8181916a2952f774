"""Without a reset policy the application does not learn that the log was truncated."""

from __future__ import annotations

from dataclasses import replace

from clients.reference.consumer.components import Components
from clients.reference.consumer.subscription.positions import FetchPosition, LogTruncation, TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.seeding.mutant import Mutant


class Silent(SubscriptionState):
    """Goes back to where the logs differ, and says nothing."""

    def complete_validation(
        self, partition: TopicPartition, asked: FetchPosition, end_offset: int, end_epoch: int
    ) -> LogTruncation | None:
        found = super().complete_validation(partition, asked, end_offset, end_epoch)
        if found is not None:
            self.seek_validated(partition, replace(asked, offset=max(end_offset, 0)))
        return None


MUTANT = Mutant(
    "reads on without a word after its log was truncated",
    Components(subscriptions=Silent),
    caught_by=("delivery/a_truncated_log_is_noticed",),
    breaks=("CSM-FET-07",),
)
