"""Every record is dated from the beginning of time."""

from __future__ import annotations

from clients.reference.buffer_pool import Grant
from clients.reference.delivery import Outgoing
from clients.reference.metadata import TopicPartition
from clients.reference.producer import Components
from clients.reference.record_accumulator import Appended, RecordAccumulator


class Undated(RecordAccumulator):
    """Has no clock."""

    def append(
        self, record: Outgoing, partition: TopicPartition, now_ms: int, grant: Grant | None = None
    ) -> Appended | None:
        record.timestamp_ms = 0
        return super().append(record, partition, now_ms, grant)


COMPONENTS = Components(accumulator=Undated)
