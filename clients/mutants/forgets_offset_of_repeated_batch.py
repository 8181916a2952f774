"""A retried batch is acknowledged without the offset that the broker reported."""

from __future__ import annotations

from msgspec.structs import replace

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant


class Distrustful(Sender):
    """Drops the offset of a batch that was retried."""

    def _succeed_batch(self, batch: ProducerBatch, answer: PartitionResponse, now_ms: int) -> None:
        super()._succeed_batch(batch, replace(answer, base_offset=-1) if batch.attempts else answer, now_ms)


MUTANT = Mutant(
    "reports no offset for a retried batch",
    Components(sender=Distrustful),
    caught_by=(
        "state_transitions/EachRecordIsStoredOnceAndInOrder",
        "delivery/what_was_stored_and_refused_is_stored_once",
    ),
    breaks=("PRD-IDM-05",),
)
