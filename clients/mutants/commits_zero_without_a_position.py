"""A commit of everything has offset 0 for partitions whose position is not known yet."""

from __future__ import annotations

from clients.reference.consumer.components import Components
from clients.reference.consumer.subscription.positions import OffsetAndMetadata, TopicPartition
from clients.reference.consumer.subscription.subscription_state import SubscriptionState
from clients.seeding.mutant import Mutant


class Complete(SubscriptionState):
    """Commits every partition that it has."""

    def all_consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        unknown = {partition: OffsetAndMetadata(0) for partition in self.assigned}
        return {**unknown, **super().all_consumed()}


MUTANT = Mutant(
    "commits offset 0 for a partition whose position it does not know",
    Components(subscriptions=Complete),
    caught_by=("commit-without-position",),
    breaks=("CSM-ACM-04",),
    scenarios=("group/auto-commit-unlisted",),
)
