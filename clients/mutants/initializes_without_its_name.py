"""InitProducerId does not name the transactional.id, so that no earlier producer is fenced."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.reference.producer.transactions.transactional_request_result import TransactionalRequestResult
from clients.seeding.mutant import Mutant


class Anonymous(TransactionalManager):
    """Asks for the identity of another transactional.id."""

    def _begin_initializing(self, call: TransactionalRequestResult, now_ms: int) -> None:
        self.transactional_id = "somebody"
        super()._begin_initializing(call, now_ms)


MUTANT = Mutant(
    "initializes under another name than its transactional.id",
    Components(transactional_manager=Anonymous),
    caught_by=("delivery/initialization_names_the_producer",),
    breaks=("PRD-TXN-01",),
)
