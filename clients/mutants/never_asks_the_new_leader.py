"""The position is not compared with the log of a new leader."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.subscription.positions import LeaderAndEpoch, TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.seeding.mutant import Mutant


class Following(SubscriptionState):
    """Treats each leader as one that cannot validate positions."""

    def maybe_validate_position(
        self, partition: TopicPartition, leader: LeaderAndEpoch, can_validate: bool | None = None
    ) -> bool:
        return super().maybe_validate_position(partition, leader, False)


MUTANT = Mutant(
    "follows a new leader without comparing its position with the leader's log",
    Components(subscriptions=Following),
    caught_by=("state_transitions/a_position_beyond_the_leaders_log_is_truncated",),
    breaks=("CSM-FET-07",),
)
