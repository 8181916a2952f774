"""A broker that is not the leader any more does not make the client ask who is."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender


class IncuriousSender(Sender):
    """Leaves metadata as it is, whatever brokers say of a batch."""

    def _complete_batch(self, batch: ProducerBatch, answer: PartitionResponse, now_ms: int) -> None:
        needed = self._metadata._need_full
        super()._complete_batch(batch, answer, now_ms)
        self._metadata._need_full = needed


COMPONENTS = Components(sender=IncuriousSender)
