"""Memory goes to whoever it suffices for: a small batch passes those who have waited longer."""

from __future__ import annotations

from clients.reference.producer.buffer_pool import BufferPool, Grant
from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator


class UnfairPool(BufferPool):
    """Has no line, only a crowd."""

    def take(self, size_bytes: int) -> Grant | None:
        return self._lend(size_bytes) if size_bytes <= self.available_bytes else None


class UnfairAccumulator(RecordAccumulator):
    """Lends from an unfair pool."""

    buffer_pool = UnfairPool


COMPONENTS = Components(accumulator=UnfairAccumulator)
