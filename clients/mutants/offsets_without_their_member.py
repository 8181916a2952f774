"""Offsets are committed in a transaction without the member that has read them."""

from __future__ import annotations

from collections.abc import Mapping

from clients.reference.common.group_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from clients.reference.metadata.topic_metadata import TopicPartition
from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.producer.transactions.transactional_request_result import TransactionalRequestResult
from clients.seeding.mutant import Mutant


class Discreet(TransactionalManager):
    """Tells only the group."""

    def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata
    ) -> TransactionalRequestResult:
        return super().send_offsets(offsets, ConsumerGroupMetadata(group.group_id))


MUTANT = Mutant(
    "commits offsets in a transaction for members that have left the group",
    Components(transactional_manager=Discreet),
    caught_by=("delivery/offsets_are_committed_with_the_transaction",),
    breaks=("PRD-TXN-17",),
)
