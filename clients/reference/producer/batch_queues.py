"""BatchQueues: each partition's queue of waiting batches, oldest first, and its batch that still accepts records.

A batch that is retried returns to its position: before every newer batch (PRD-IDM-07). A round only visits partitions
with batches. An empty queue is kept, because it records that the partition had a batch (RecordAccumulator.load_of).
"""

from __future__ import annotations

from collections import deque

from clients.reference.metadata.metadata import TopicPartition
from clients.reference.producer.producer_batch import ProducerBatch

Queue = deque[ProducerBatch]


class BatchQueues:
    """The queues of all partitions.

    ``open`` maps a partition to the newest batch of its queue, if that accepts records.
    """

    def __init__(self) -> None:
        self.open: dict[TopicPartition, ProducerBatch] = {}
        self._queues: dict[TopicPartition, Queue] = {}
        self._waiting: dict[TopicPartition, Queue] = {}

    # Insertion

    def _queue(self, partition: TopicPartition) -> Queue:
        """Return the queue for a new batch."""
        queue = self._queues.get(partition)
        if queue is None:
            queue = self._queues[partition] = deque()
        self._waiting[partition] = queue
        return queue

    def insert_in_sequence_order(self, batch: ProducerBatch) -> None:
        """Insert a batch into its queue by ``order``, before every newer batch (PRD-IDM-07)."""
        queue = self._queue(batch.partition)
        position = next((i for i, other in enumerate(queue) if other.order > batch.order), len(queue))
        queue.insert(position, batch)

    # Removal

    def _remove(self, batch: ProducerBatch) -> None:
        queue = self._waiting[batch.partition]
        queue.remove(batch)
        if not queue:
            del self._waiting[batch.partition]

    def _take_out(self, batch: ProducerBatch) -> None:
        """Remove a queued batch that has ended."""
        if self.open.get(batch.partition) is batch:
            del self.open[batch.partition]
        self._remove(batch)

    def take_expired(self, now_ms: int) -> list[ProducerBatch]:
        """Remove and return the queued batches whose delivery timeout has expired, by partition, oldest first."""
        expired = []
        for queue in self._waiting.values():
            for batch in queue:
                if not batch.has_expired(now_ms):
                    break
                expired.append(batch)
        for batch in expired:
            self._take_out(batch)
        return expired

    # Queries

    def next_expiry_ms(self) -> int | None:
        """Return when the first queued batch expires (PRD-EXP-05)."""
        first_ms: int | None = None
        for queue in self._waiting.values():
            expires_ms = queue[0].expires_ms
            if first_ms is None or expires_ms < first_ms:
                first_ms = expires_ms
        return first_ms

    def is_filling(self, partition: TopicPartition) -> bool:
        """Return whether the partition has a batch with room."""
        batch = self.open.get(partition)
        return batch is not None and not batch.is_full

    def has_queued(self) -> bool:
        """Return whether any batch waits in a queue. Batches in flight do not count."""
        return bool(self._waiting)

    def queued(self) -> list[ProducerBatch]:
        """Return the batches that wait in queues, by partition, oldest first."""
        return [batch for queue in self._waiting.values() for batch in queue]
