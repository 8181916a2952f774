"""Memory that was returned is returned once more: the pool has more than buffer.memory."""

from __future__ import annotations

from clients.reference.producer.buffer_pool import BufferPool, Grant
from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Generous(BufferPool):
    """Takes back whatever is brought."""

    def give_back(self, grant: Grant) -> None:
        grant.returned = False
        super().give_back(grant)


class GenerousAccumulator(RecordAccumulator):
    """Has such a pool."""

    buffer_pool = Generous


MUTANT = Mutant(
    "counts memory that is returned a second time",
    Components(accumulator=GenerousAccumulator),
    caught_by=("state_transitions/MemoryIsLentInTurnAndReturnedOnce",),
    breaks=("PRD-ACC-11",),
)
