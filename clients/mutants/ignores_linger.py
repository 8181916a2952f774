"""A batch is sent as soon as it has a record, whatever linger.ms is."""

from __future__ import annotations

from clients.reference.producer.batch_queues import Queue
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Eager(RecordAccumulator):
    """Counts every batch as urgent."""

    def _hurry(self, batch: ProducerBatch, queue: Queue) -> str:
        return super()._hurry(batch, queue) or "along"


MUTANT = Mutant(
    "ignores linger.ms and sends a batch as soon as it has a record",
    Components(accumulator=Eager),
    caught_by=(
        "state_transitions/BatchesGoWhenTheyMayAndInOrder",
        "timeout_expiry/a_batch_lingers_and_then_goes",
    ),
    breaks=("PRD-ACC-03",),
)
