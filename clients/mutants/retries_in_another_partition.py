"""A failed batch is retried in the next partition of the same leader."""

from __future__ import annotations

from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.record_accumulator import RecordAccumulator
from clients.seeding.mutant import Mutant
from harness.model.verdicts import Guarantee


class Wandering(RecordAccumulator):
    """Changes the partition of a retried batch, unless the producer is idempotent."""

    def reenqueue(self, batch: ProducerBatch, now_ms: int) -> None:
        leader = self._metadata.leader_of(batch.partition)
        if leader is not None and self._transactions is None:
            led = self._metadata.partitions_led_by(leader)
            batch.partition = led[(led.index(batch.partition) + 1) % len(led)]
        super().reenqueue(batch, now_ms)


MUTANT = Mutant(
    "retries a failed batch in another partition",
    Components(accumulator=Wandering),
    caught_by=("partition-moved",),
    breaks=("PRD-SND-02",),
    scenario="produce/dropped-response",
    guarantee=Guarantee.AT_LEAST_ONCE,
)
