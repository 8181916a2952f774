"""BatchQueues: per partition the batches that wait, oldest first, and the one of them that still takes records.

A batch that is sent again goes back to where its records belong: in front of everything younger (PRD-IDM-07). Only
partitions with batches are looked at in a round; the queue of one that has none is kept, for it tells that there was
one (RecordAccumulator.load_of).
"""

from __future__ import annotations

from collections import deque

from clients.reference.metadata.metadata import TopicPartition
from clients.reference.producer.producer_batch import ProducerBatch

Queue = deque[ProducerBatch]


class BatchQueues:
    """``open`` has the batch of each partition that takes records; it is the youngest of its queue."""

    def __init__(self) -> None:
        self.open: dict[TopicPartition, ProducerBatch] = {}
        self._queues: dict[TopicPartition, Queue] = {}
        self._waiting: dict[TopicPartition, Queue] = {}

    # in

    def _queue(self, partition: TopicPartition) -> Queue:
        """The queue to put a batch into."""
        queue = self._queues.get(partition)
        if queue is None:
            queue = self._queues[partition] = deque()
        self._waiting[partition] = queue
        return queue

    def insert_in_sequence_order(self, batch: ProducerBatch) -> None:
        """Into its queue by ``order``, in front of everything younger (PRD-IDM-07)."""
        queue = self._queue(batch.partition)
        position = next((i for i, other in enumerate(queue) if other.order > batch.order), len(queue))
        queue.insert(position, batch)

    # out

    def _remove(self, batch: ProducerBatch) -> None:
        queue = self._waiting[batch.partition]
        queue.remove(batch)
        if not queue:
            del self._waiting[batch.partition]

    def _take_out(self, batch: ProducerBatch) -> None:
        """A queued batch ends where it is."""
        if self.open.get(batch.partition) is batch:
            del self.open[batch.partition]
        self._remove(batch)

    def take_expired(self, now_ms: int) -> list[ProducerBatch]:
        """Remove and give the queued batches whose delivery timeout is over, by partition, oldest first."""
        expired = []
        for queue in self._waiting.values():
            for batch in queue:
                if not batch.has_expired(now_ms):
                    break
                expired.append(batch)
        for batch in expired:
            self._take_out(batch)
        return expired

    # asking

    def next_expiry_ms(self) -> int | None:
        """When the first queued batch expires (PRD-EXP-05)."""
        first_ms: int | None = None
        for queue in self._waiting.values():
            expires_ms = queue[0].expires_ms
            if first_ms is None or expires_ms < first_ms:
                first_ms = expires_ms
        return first_ms

    def is_filling(self, partition: TopicPartition) -> bool:
        """Is there a batch with room?"""
        batch = self.open.get(partition)
        return batch is not None and not batch.is_full

    def has_queued(self) -> bool:
        """Does any batch wait in a queue? Those in flight do not count."""
        return bool(self._waiting)

    def queued(self) -> list[ProducerBatch]:
        """The batches that wait in queues, by partition, oldest first."""
        return [batch for queue in self._waiting.values() for batch in queue]
