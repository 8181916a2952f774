"""A seek to a negative offset begins at the first record."""

from __future__ import annotations

from clients.reference.consumer.consumer import ConsumerCore
from clients.reference.consumer.subscription.positions import OffsetAndMetadata, TopicPartition
from clients.seeding.consumer_variant import ConsumerVariant
from clients.seeding.mutant import Mutant


class Lenient(ConsumerCore):
    """Replaces negative offsets."""

    def seek(self, partition: TopicPartition, to: int | OffsetAndMetadata) -> None:
        super().seek(partition, max(to, 0) if isinstance(to, int) else to)


MUTANT = Mutant(
    "takes a negative offset for the beginning of the log",
    ConsumerVariant(core=Lenient),
    caught_by=("state_transitions/a_negative_offset_is_refused",),
    breaks=("CSM-API-06",),
)
