"""Memory goes to whoever it suffices for: a small batch passes those who have waited longer."""

from __future__ import annotations

from clients.reference.producer.buffer_pool import BufferPool, Grant
from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class UnfairPool(BufferPool):
    """Has no line, only a crowd."""

    def take(self, size_bytes: int) -> Grant | None:
        return self._lend(size_bytes) if size_bytes <= self.available_bytes else None


class UnfairAccumulator(RecordAccumulator):
    """Lends from an unfair pool."""

    buffer_pool = UnfairPool


MUTANT = Mutant(
    "gives memory to whoever it suffices for, past those who wait longer",
    Components(accumulator=UnfairAccumulator),
    caught_by=("state_transitions/MemoryIsLentInTurnAndReturnedOnce",),
    breaks=("PRD-ACC-09",),
)
