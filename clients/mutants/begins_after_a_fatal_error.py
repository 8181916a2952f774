"""After a fatal error the next transaction can begin."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transactions.transaction import Transaction
from clients.reference.producer.transactions.transactional_manager import TransactionalManager
from clients.seeding.mutant import Mutant


class Numb(Transaction):
    """Never tells the error that it is in."""

    def fail_if_error(self) -> None:
        pass


class Stoic(TransactionalManager):
    """Tells only that a call is not possible, and not why."""

    transaction_state = Numb


MUTANT = Mutant(
    "does not tell the cause of a fatal error again",
    Components(transactional_manager=Stoic),
    caught_by=(
        "state_transitions/a_fatal_error_is_the_answer_to_every_call",
        "delivery/a_second_producer_fences_the_first",
    ),
    breaks=("PRD-TXN-19",),
)
