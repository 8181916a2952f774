"""Memory that was already returned can be returned again, so the pool exceeds buffer.memory."""

from __future__ import annotations

from clients.reference.producer.buffer_pool import BufferPool, Grant
from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Generous(BufferPool):
    """Accepts a grant that was already returned."""

    def give_back(self, grant: Grant) -> None:
        grant.returned = False
        super().give_back(grant)


class GenerousAccumulator(RecordAccumulator):
    """Uses ``Generous``."""

    buffer_pool = Generous


MUTANT = Mutant(
    "counts memory again if it is returned a second time",
    Components(accumulator=GenerousAccumulator),
    caught_by=("state_transitions/MemoryIsLentInTurnAndReturnedOnce",),
    breaks=("PRD-ACC-11",),
)
