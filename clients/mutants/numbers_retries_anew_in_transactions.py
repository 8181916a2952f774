"""Within a transaction, a retry gets new sequence numbers, so the broker stores the batch again."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.seeding.mutant import Mutant
from clients.seeding.renumbering import Renumbering


class RenumberingInTransactions(Renumbering, TransactionalManager):
    """Renumbers the batches of transactions."""


MUTANT = Mutant(
    "gives a batch of a transaction new sequence numbers whenever it retries it",
    Components(transactional_manager=RenumberingInTransactions),
    caught_by=("visible-twice",),
    breaks=("PRD-TXN-16",),
    scenarios=("transactions/produce-answer-lost",),
)
