"""Returned memory wakes no waiting send, so a send that waits for memory waits until max.block.ms."""

from __future__ import annotations

from clients.reference.producer.buffer_pool import BufferPool
from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Sleepy(BufferPool):
    """Does not serve waiting sends."""

    def _serve(self) -> None:
        """Do nothing."""


class SleepyAccumulator(RecordAccumulator):
    """Uses ``Sleepy``."""

    buffer_pool = Sleepy


MUTANT = Mutant(
    "wakes no waiting send when memory is returned",
    Components(accumulator=SleepyAccumulator),
    caught_by=(
        "state_transitions/MemoryIsLentInTurnAndReturnedOnce",
        "timeout_expiry/memory_is_waited_for_in_turn",
    ),
    breaks=("PRD-ACC-09",),
)
