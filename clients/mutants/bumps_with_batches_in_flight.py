"""The epoch is raised while batches are still on their way: they are sent again under new numbers."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transaction_manager import TransactionManager


class Impatient(TransactionManager):
    """Does not wait for what is out."""

    def _any_in_doubt(self) -> bool:
        return False


COMPONENTS = Components(transaction_manager=Impatient)
