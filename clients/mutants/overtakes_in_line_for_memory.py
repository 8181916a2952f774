"""Free memory goes to any record that fits, so a small record overtakes those that have waited longer."""

from __future__ import annotations

from clients.reference.producer.buffer_pool import BufferPool, Grant
from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class UnfairPool(BufferPool):
    """Grants memory at once if enough is free, whatever is waiting."""

    def take(self, size_bytes: int) -> Grant | None:
        return self._lend(size_bytes) if size_bytes <= self.available_bytes else None


class UnfairAccumulator(RecordAccumulator):
    """Uses ``UnfairPool``."""

    buffer_pool = UnfairPool


MUTANT = Mutant(
    "gives free memory to any record that fits, before those that have waited longer",
    Components(accumulator=UnfairAccumulator),
    caught_by=("state_transitions/MemoryIsLentInTurnAndReturnedOnce",),
    breaks=("PRD-ACC-09",),
)
