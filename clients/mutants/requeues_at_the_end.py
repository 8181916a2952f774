"""A batch that is to be sent again stands at the end of its queue, behind younger ones."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator


class PoliteAccumulator(RecordAccumulator):
    """Lets everybody go first."""

    def insert_in_sequence_order(self, batch: ProducerBatch) -> None:
        self._queue(batch.partition).append(batch)


COMPONENTS = Components(accumulator=PoliteAccumulator)
