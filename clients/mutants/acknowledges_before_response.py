"""A record is reported as written when its request is sent. If the connection is then lost, so is the record."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import NO_OFFSET, NO_TIMESTAMP, ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant
from harness.model.verdicts import Guarantee


class HastySender(Sender):
    """Completes a batch successfully when it is sent."""

    def _sent(self, batch: ProducerBatch, node_id: int, now_ms: int) -> None:
        super()._sent(batch, node_id, now_ms)
        if batch.succeed(NO_OFFSET, NO_TIMESTAMP, now_ms):
            self._end(batch)


MUTANT = Mutant(
    "reports a record as written as soon as it is sent",
    Components(sender=HastySender),
    caught_by=(
        "lost",
        "early-ack",
        "delivery/at_least_once",
        "timeout_expiry/each_send_ends_once_and_in_time",
    ),
    breaks=("E2E-DEL-01",),
    scenario="produce/disconnect",
    guarantee=Guarantee.AT_LEAST_ONCE,
)
