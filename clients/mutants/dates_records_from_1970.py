"""Every record has the timestamp 0."""

from __future__ import annotations

from clients.reference.metadata.metadata import TopicPartition
from clients.reference.producer.buffer_pool import Grant
from clients.reference.producer.producer import Components
from clients.reference.producer.record_accumulator import Appended, RecordAccumulator
from clients.reference.producer.send_handle import Outgoing
from clients.seeding.mutant import Mutant


class Undated(RecordAccumulator):
    """Sets the timestamp of each record to 0."""

    def append(
        self, record: Outgoing, partition: TopicPartition, now_ms: int, grant: Grant | None = None
    ) -> Appended | None:
        record.timestamp_ms = 0
        return super().append(record, partition, now_ms, grant)


MUTANT = Mutant(
    "gives every record the timestamp 0",
    Components(accumulator=Undated),
    caught_by=("not-as-configured",),
    breaks=("PRD-ISP-09",),
)
