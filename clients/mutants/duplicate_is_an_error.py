"""A batch fails if the broker answers that it already has it."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.wire.error_table import error_for


class Literal(Sender):
    """Fails a batch after DUPLICATE_SEQUENCE_NUMBER."""

    def _complete_batch(self, batch: ProducerBatch, answer: PartitionResponse, now_ms: int) -> None:
        error = error_for(answer.error_code)
        if error.name == "DUPLICATE_SEQUENCE_NUMBER":
            self._fail_batch(batch, error, answer, now_ms)
        else:
            super()._complete_batch(batch, answer, now_ms)


MUTANT = Mutant(
    "fails a batch that the broker already has",
    Components(sender=Literal),
    caught_by=("delivery/a_duplicate_counts_as_stored",),
    breaks=("PRD-IDM-06",),
)
