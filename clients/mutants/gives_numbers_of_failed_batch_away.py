"""The sequence numbers of a batch that must be retried are given to the next batch, as in kafkajs."""

from __future__ import annotations

from collections.abc import Sequence

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.metadata.metadata import TopicPartition
from clients.reference.ports import Jitter
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import NO_PRODUCER_ID, NO_SEQUENCE, ProducerBatch
from clients.reference.producer.transaction_manager import TransactionManager
from clients.reference.telemetry.trace import Trace
from clients.seeding.mutant import Mutant
from harness.model.verdicts import Guarantee


class Generous(TransactionManager):
    """Gives the next batch the numbers of the oldest failed one, once all sent batches have been answered."""

    def __init__(self, config: ProducerConfig, jitter: Jitter, trace: Trace) -> None:
        super().__init__(config, jitter, trace)
        self._favoured: dict[TopicPartition, ProducerBatch] = {}

    def pick(self, queue: Sequence[ProducerBatch]) -> ProducerBatch | None:
        partition = queue[0].partition
        favoured = self._favoured.get(partition)
        if favoured is not None and favoured in queue and not favoured.has_sequence:
            return favoured
        entry = self._entry(partition)
        failed = [batch for batch in queue if batch.has_sequence and batch.attempts > 0]
        if not failed or len(queue) < 2 or entry.in_flight != failed:
            return super().pick(queue)
        first = failed[0].base_sequence
        for batch in failed:
            entry.forget(batch, batch.retry_at_ms)
            batch.assign_sequence(NO_PRODUCER_ID, NO_SEQUENCE)
        entry.next_sequence = first
        self._favoured[partition] = queue[1]
        return queue[1]


MUTANT = Mutant(
    "gives the sequence numbers of a batch that must be retried to the next batch",
    Components(transaction_manager=Generous),
    caught_by=("sequence-reused",),
    breaks=("PRD-IDM-13",),
    scenarios=("frame/error-after-append",),
    scenario="produce/dropped-response",
    guarantee=Guarantee.IDEMPOTENT,
)
