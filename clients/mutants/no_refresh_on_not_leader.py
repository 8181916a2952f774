"""If a broker is no longer the leader, the client does not ask for the new one."""

from __future__ import annotations

from clients.reference.common.requests import PartitionResponse
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.sender import Sender
from clients.seeding.mutant import Mutant


class IncuriousSender(Sender):
    """Restores the metadata state after each response for a batch."""

    def _complete_batch(self, batch: ProducerBatch, answer: PartitionResponse, now_ms: int) -> None:
        needed = self._metadata._need_full
        super()._complete_batch(batch, answer, now_ms)
        self._metadata._need_full = needed


MUTANT = Mutant(
    "does not request metadata when a broker is no longer the leader",
    Components(sender=IncuriousSender),
    caught_by=(
        "delivery/a_leader_error_asks_for_metadata",
        "timeout_expiry/a_wrong_leader_is_looked_up_at_once",
    ),
    breaks=("MET-08", "PRD-SND-10"),
)
