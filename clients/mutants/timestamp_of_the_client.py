"""If a topic uses LogAppendTime, a record is reported with its own timestamp instead of the broker's."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import NO_TIMESTAMP, ProducerBatch
from clients.seeding.mutant import Mutant


class OwnTime(ProducerBatch):
    """Ignores the timestamp in the response."""

    def succeed(self, base_offset: int, log_append_time_ms: int, now_ms: int) -> bool:
        return super().succeed(base_offset, NO_TIMESTAMP, now_ms)


MUTANT = Mutant(
    "reports a record's own timestamp even if the topic uses LogAppendTime",
    Components(batch=OwnTime),
    caught_by=("delivery/what_was_sent_is_stored_and_told",),
    breaks=("PRD-ISP-09",),
)
