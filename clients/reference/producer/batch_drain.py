"""BatchDrain: which batches may be sent now, and in which order they are taken.

``ready`` returns the nodes with batches to send, and ``drain`` takes the batches. Linger, batch.size, memory pressure,
flush, close and the end of a transaction decide when a batch may be sent. A failed batch waits for its backoff instead
(PRD-ACC-02, -04).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter

import msgspec

from clients.reference.config.producer_config import ProducerConfig
from clients.reference.metadata.metadata import Metadata, TopicPartition
from clients.reference.producer.batch_queues import BatchQueues, Queue
from clients.reference.producer.buffer_pool import BufferPool
from clients.reference.producer.compression_ratio_estimator import CompressionRatioEstimator
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.transaction_manager import TransactionManager


class ReadyCheck(msgspec.Struct):
    """Nodes with batches to send, topics with an unknown leader, and when the next batch becomes ready."""

    nodes: set[int] = set()
    unknown_leader_topics: set[str] = set()
    next_check_ms: int | None = None


class BatchDrain(BatchQueues):
    """Takes batches out of the queues. ``pool`` accounts for buffer.memory, ``estimator`` estimates compression."""

    def __init__(
        self,
        config: ProducerConfig,
        metadata: Metadata,
        transactions: TransactionManager | None,
        estimator: CompressionRatioEstimator,
        pool: BufferPool,
    ) -> None:
        super().__init__()
        self._config = config
        self._metadata = metadata
        self._transactions = transactions
        #: Returns the next batch of a queue to send, if any: the oldest, unless the sequences forbid it.
        self._candidate: Callable[[Queue], ProducerBatch | None] = (
            transactions.pick if transactions else itemgetter(0)
        )
        self._muted: set[TopicPartition] = set()
        self._drain_from: dict[int, int] = {}
        self._flushes = 0
        self._is_closed = False
        self.estimator = estimator
        self.pool = pool

    # Which batches are ready

    def ready(self, now_ms: int) -> ReadyCheck:
        """Check the oldest batch of each partition (PRD-ACC-02)."""
        nodes: set[int] = set()
        unknown_leader_topics: set[str] = set()
        next_check_ms: int | None = None
        for partition, queue in self._waiting.items():
            leader = self._metadata.leader_of(partition)
            if leader is None:
                unknown_leader_topics.add(partition[0])
            elif leader not in nodes and partition not in self._muted:
                batch = self._candidate(queue)
                if batch is None:
                    continue
                ready_ms = self._ready_at_ms(batch, queue, now_ms)
                if ready_ms <= now_ms:
                    nodes.add(leader)
                elif next_check_ms is None or ready_ms < next_check_ms:
                    next_check_ms = ready_ms
        return ReadyCheck(nodes, unknown_leader_topics, next_check_ms)

    def _ready_at_ms(self, batch: ProducerBatch, queue: Queue, now_ms: int) -> int:
        if batch.attempts:
            backoff_ms = batch.backs_off_until(self._leader_epoch(batch.partition))
            return now_ms if backoff_ms is None else backoff_ms
        return now_ms if self._hurry(batch, queue) else batch.created_ms + self._config.linger_ms

    def _hurry(self, batch: ProducerBatch, queue: Queue) -> str:
        """Return why a batch may be sent before its linger ends, or an empty string if it may not."""
        if batch.is_full:
            return "full"
        if len(queue) > 1:
            return "queued"
        if self.pool.waiting:
            return "memory"
        if self._is_closed:
            return "closing"
        if self._flushes:
            return "flush"
        return "transaction" if self._transactions is not None and self._transactions.is_completing else ""

    def _leader_epoch(self, partition: TopicPartition) -> int:
        return self._metadata.current_leader(partition).epoch

    # Draining

    def drain(self, nodes: Iterable[int], now_ms: int) -> dict[int, list[ProducerBatch]]:
        """Return at most one batch per partition for each node, of at most max.request.size in all (PRD-ACC-05)."""
        drained = {}
        for node_id in sorted(nodes):
            batches = self._drain_node(node_id, now_ms)
            if batches:
                drained[node_id] = batches
        return drained

    def _drain_node(self, node_id: int, now_ms: int) -> list[ProducerBatch]:
        """Start where the last request to this node ended, so that no partition starves (PRD-ACC-06)."""
        partitions = self._metadata.partitions_led_by(node_id)
        batches: list[ProducerBatch] = []
        size_bytes = 0
        start = self._drain_from.get(node_id, 0)
        self._drain_from[node_id] = start + 1
        for offset in range(len(partitions)):
            partition = partitions[(start + offset) % len(partitions)]
            batch = self._drainable(partition, now_ms)
            if batch is None:
                continue
            self._seal(batch, now_ms)
            if batches and size_bytes + batch.size_bytes > self._config.max_request_size:
                self._drain_from[node_id] = start + offset
                break
            self._remove(batch)
            self._prepare(batch, now_ms)
            size_bytes += batch.size_bytes
            batches.append(batch)
        return batches

    def _drainable(self, partition: TopicPartition, now_ms: int) -> ProducerBatch | None:
        queue = self._waiting.get(partition)
        if queue is None or partition in self._muted:
            return None
        batch = self._candidate(queue)
        if batch is None or not batch.attempts:
            return batch
        backoff_ms = batch.backs_off_until(self._leader_epoch(partition))
        return batch if backoff_ms is None or backoff_ms <= now_ms else None

    def _seal(self, batch: ProducerBatch, now_ms: int) -> None:
        """Encode an open batch, so that its real size is known, and update the compression estimate."""
        if self.open.get(batch.partition) is batch:
            over = now_ms >= batch.created_ms + self._config.linger_ms
            hurry = self._hurry(batch, self._waiting[batch.partition])
            self._close(batch, now_ms, hurry or ("linger" if over else "along"))
        if batch.uncompressed_bytes:
            return
        if self._transactions is None or batch.has_sequence:
            batch.payload()
        else:
            batch.encode(*self._transactions.next_identity(batch.partition))
        self.estimator.observed(batch.partition[0], batch.compression_ratio)
        if batch.grant:
            self.pool.shrink(batch.grant, max(self._config.batch_size, batch.size_bytes))

    def _close(self, batch: ProducerBatch, now_ms: int, reason: str) -> None:
        self.open.pop(batch.partition, None)
        batch.close(now_ms, reason)

    def _prepare(self, batch: ProducerBatch, now_ms: int) -> None:
        """Assign the producer id, epoch and sequence, once (PRD-IDM-03)."""
        if self._transactions is not None and not batch.has_sequence:
            self._transactions.assign_sequence(batch, now_ms)
        batch.leader_epoch = self._leader_epoch(batch.partition)
        batch.drained(now_ms)

    # Muting, flush and close

    def mute(self, partition: TopicPartition) -> None:
        """Send nothing for this partition until it is unmuted (PRD-ACC-08)."""
        self._muted.add(partition)

    def unmute(self, partition: TopicPartition) -> None:
        """Undo ``mute``. The partition need not be muted."""
        self._muted.discard(partition)

    def begin_flush(self) -> None:
        """Make everything ready to be sent, until ``end_flush`` (PRD-CLS-01)."""
        self._flushes += 1

    def end_flush(self) -> None:
        """Undo one ``begin_flush``. They nest."""
        self._flushes -= 1

    def close(self) -> None:
        """Make everything ready to be sent from now on, without linger (PRD-CLS-03)."""
        self._is_closed = True
