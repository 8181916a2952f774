"""A record of a topic with LogAppendTime is told its own timestamp, not the broker's."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import NO_TIMESTAMP, ProducerBatch


class OwnTime(ProducerBatch):
    """Has no ear for the broker's clock."""

    def succeed(self, base_offset: int, log_append_time_ms: int, now_ms: int) -> bool:
        return super().succeed(base_offset, NO_TIMESTAMP, now_ms)


COMPONENTS = Components(batch=OwnTime)
