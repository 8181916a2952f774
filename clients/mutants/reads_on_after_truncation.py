"""A position beyond the end of the leader's log counts as valid."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.subscription.positions import FetchPosition, LogTruncation, TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.seeding.mutant import Mutant


class Trusting(SubscriptionState):
    """Takes each answer about an epoch for a confirmation."""

    def complete_validation(
        self, partition: TopicPartition, asked: FetchPosition, end_offset: int, end_epoch: int
    ) -> LogTruncation | None:
        return super().complete_validation(partition, asked, asked.offset, 1)


MUTANT = Mutant(
    "reads on at a position that the new leader's log does not have",
    Components(subscriptions=Trusting),
    caught_by=(
        "state_transitions/a_position_beyond_the_leaders_log_is_truncated",
        "skipped",
        "truncation-unnoticed",
    ),
    breaks=("CSM-FET-07",),
    scenarios=("consume/unclean-election",),
)
