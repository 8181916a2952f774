"""Records that the application sends again after a failure get their first sequence numbers again."""

from __future__ import annotations

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.metadata.metadata import TopicPartition
from clients.reference.ports import Jitter
from clients.reference.producer.producer import Components
from clients.reference.producer.producer_batch import ProducerBatch, ProducerId
from clients.reference.producer.transaction_manager import TransactionManager
from clients.reference.telemetry.trace import Trace
from clients.seeding.mutant import Mutant
from harness.wire.error_table import KafkaError
from harness.wire.records import read_batches

Content = tuple[TopicPartition, tuple[bytes | None, ...]]


class Recognizing(TransactionManager):
    """Treats records with equal values as the same records."""

    def __init__(self, config: ProducerConfig, jitter: Jitter, trace: Trace) -> None:
        super().__init__(config, jitter, trace)
        self._ended_badly: dict[Content, tuple[ProducerId, int]] = {}

    def failed(self, batch: ProducerBatch, error: KafkaError, *, is_definite: bool, now_ms: int) -> None:
        self._ended_badly[_content(batch)] = batch.producer_id, batch.base_sequence
        super().failed(batch, error, is_definite=is_definite, now_ms=now_ms)

    def assign_sequence(self, batch: ProducerBatch, now_ms: int) -> None:
        super().assign_sequence(batch, now_ms)
        known = self._ended_badly.get(_content(batch))
        if known is not None:
            batch.assign_sequence(*known)


def _content(batch: ProducerBatch) -> Content:
    [read] = read_batches(batch.payload())
    return batch.partition, tuple(record.value for record in read.records)


MUTANT = Mutant(
    "gives records that the application sends again their old sequence numbers",
    Components(transaction_manager=Recognizing),
    caught_by=("delivery/what_the_application_repeats_is_a_new_record",),
    breaks=("PRD-IDM-16",),
)
