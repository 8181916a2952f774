"""A call that took too long is forgotten, and another one is made."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.seeding.mutant import Mutant


class Forgetful(TransactionalManager):
    """Does not remember which call has no result."""

    def _must_not_be_pending(self, method: str) -> None:
        pass


MUTANT = Mutant(
    "allows another call while one that took too long has no result",
    Components(transactional_manager=Forgetful),
    caught_by=("state_transitions/a_call_without_a_result_can_only_be_repeated",),
    breaks=("PRD-TXN-13",),
)
