"""A broker that is not the leader any more does not make the client ask who is."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant


class IncuriousSender(Sender):
    """Leaves metadata as it is, whatever brokers say of a batch."""

    def _complete_batch(self, batch: ProducerBatch, answer: PartitionResponse, now_ms: int) -> None:
        needed = self._metadata._need_full
        super()._complete_batch(batch, answer, now_ms)
        self._metadata._need_full = needed


MUTANT = Mutant(
    "does not ask for metadata when a broker is not the leader any more",
    Components(sender=IncuriousSender),
    caught_by=(
        "delivery/a_leader_error_asks_for_metadata",
        "timeout_expiry/a_wrong_leader_is_looked_up_at_once",
    ),
    breaks=("MET-08", "PRD-SND-10"),
)
