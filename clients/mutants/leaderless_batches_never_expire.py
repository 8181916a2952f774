"""Batches of a partition without a leader do not expire."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant


class Loyal(RecordAccumulator):
    """Expires only batches whose partition has a leader."""

    def take_expired(self, now_ms: int) -> list[ProducerBatch]:
        led = {
            partition: queue
            for partition, queue in self._waiting.items()
            if self._metadata.leader_of(partition) is not None
        }
        waiting, self._waiting = self._waiting, led
        expired = super().take_expired(now_ms)
        self._waiting = {partition: queue for partition, queue in waiting.items() if queue}
        return expired


MUTANT = Mutant(
    "never expires batches of a partition without a leader",
    Components(accumulator=Loyal),
    caught_by=("timeout_expiry/a_batch_without_a_leader_waits_and_ages",),
    breaks=("PRD-ACC-07",),
)
