"""A batch that may be stored gets a new identity when the epoch is raised, as in Java. It can be stored twice."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.transaction_manager import TransactionManager
from clients.seeding.mutant import Mutant


class AsJava(TransactionManager):
    """Waits only for batches whose request is on the wire, not for those whose outcome is unknown."""

    def _any_in_doubt(self) -> bool:
        return any(
            batch.on_the_wire for partition in self._to_restart for batch in self._entry(partition).in_flight
        )


MUTANT = Mutant(
    "gives a batch that may be stored a new identity when it raises the epoch, as Java does",
    Components(transaction_manager=AsJava),
    caught_by=("delivery/what_may_be_stored_keeps_its_numbers",),
    breaks=("PRD-IDM-03",),
)
