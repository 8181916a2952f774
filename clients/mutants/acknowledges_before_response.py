"""A record is reported as written as soon as its request is on its way: what is lost with the connection stays lost."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import NO_OFFSET, NO_TIMESTAMP, ProducerBatch
from clients.reference.producer.sender import Sender


class HastySender(Sender):
    """Ends a batch well when it is sent."""

    def _sent(self, batch: ProducerBatch, node_id: int, now_ms: int) -> None:
        super()._sent(batch, node_id, now_ms)
        if batch.succeed(NO_OFFSET, NO_TIMESTAMP, now_ms):
            self._end(batch)


COMPONENTS = Components(sender=HastySender)
