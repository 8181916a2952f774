"""Every record of a batch fails with the error that the broker reported for one of them."""

from __future__ import annotations

from msgspec.structs import replace

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError


class Blaming(Sender):
    """Drops the errors that the broker reported for single records."""

    def _fail_batch(
        self, batch: ProducerBatch, error: KafkaError, answer: PartitionResponse, now_ms: int
    ) -> None:
        super()._fail_batch(batch, error, replace(answer, record_errors=()), now_ms)


MUTANT = Mutant(
    "fails every record of a batch with the error of the invalid ones",
    Components(sender=Blaming),
    caught_by=("delivery/only_bad_records_are_blamed",),
    breaks=("PRD-SND-12",),
)
