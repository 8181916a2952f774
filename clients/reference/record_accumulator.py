"""RecordAccumulator: per partition a queue of batches, the newest open for records, the oldest next to be sent.

``ready`` says which nodes there is something for, ``drain`` takes it. Linger, batch.size, memory pressure, flush and
close decide when a batch may go; a failed batch waits its backoff instead, and goes back to where its records
belong: in front of everything younger (PRD-ACC-04, PRD-IDM-07).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from clients.reference.backoff import ExponentialBackoff
from clients.reference.buffer_pool import BufferPool, Grant
from clients.reference.config import ProducerConfig
from clients.reference.delivery import Outgoing
from clients.reference.errors import SendError
from clients.reference.metadata import Metadata, TopicPartition
from clients.reference.ports import Jitter
from clients.reference.producer_batch import ProducerBatch
from clients.reference.states import BatchState
from clients.reference.trace import Trace
from clients.reference.transaction_manager import TransactionManager
from harness.wire.records import BATCH_OVERHEAD_BYTES, BatchBuilder


@dataclass(slots=True)
class ReadyCheck:
    """Nodes with something to send, topics whose leader nobody knows, and when the next batch comes of age."""

    nodes: set[int] = field(default_factory=set)
    unknown_leader_topics: set[str] = field(default_factory=set)
    next_check_ms: int | None = None


@dataclass(slots=True)
class Appended:
    """Where a record went. ``wake`` asks for a round: a batch is new or full."""

    batch: ProducerBatch
    index: int
    wake: bool
    batch_is_full: bool


class RecordAccumulator:
    """All batches that have no result yet, in queues; those in flight are the Sender's."""

    def __init__(
        self,
        config: ProducerConfig,
        metadata: Metadata,
        transactions: TransactionManager | None,
        jitter: Jitter,
        trace: Trace,
        batch_class: type[ProducerBatch] = ProducerBatch,
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._transactions = transactions
        self._trace = trace
        self._batch_class = batch_class
        self._batch_size = config.batch_size
        self._backoff = ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, jitter)
        self._queues: dict[TopicPartition, deque[ProducerBatch]] = {}
        self._muted: set[TopicPartition] = set()
        self._drain_from: dict[int, int] = {}
        self._batches_made = 0
        self._flushes = 0
        self._is_closed = False
        self._incomplete: dict[ProducerBatch, None] = {}
        self.pool = BufferPool(config.buffer_memory)

    # records come in

    def append(
        self, record: Outgoing, partition: TopicPartition, now_ms: int, grant: Grant | None = None
    ) -> Appended | None:
        """Add a record to its partition; None where a new batch finds no memory.

        ``grant`` is memory that was waited for; it is given back where it proves to be needless.
        """
        queue = self._queues.get(partition)
        if queue is None:
            queue = self._queues[partition] = deque()
        batch = queue[-1] if queue else None
        if batch is None or not self._has_room(batch, record.size_bytes):
            grant = grant or self.pool.take(self.memory_for(record.size_bytes))
            if grant is None:
                return None
            if batch is not None:
                batch.close(now_ms)
            batch = self._new_batch(partition, record.timestamp_ms, grant, now_ms)
            queue.append(batch)
        elif grant is not None:
            self.pool.give_back(grant)
        index = batch.append(record.timestamp_ms, record.key, record.value, record.headers, record.callback)
        is_full = batch.size_bytes >= self._batch_size
        return Appended(batch, index, is_full or index == 0, is_full)

    def memory_for(self, size_bytes: int) -> int:
        """What a batch costs that is opened for a record of this size: a record may exceed batch.size."""
        whole_bytes = max(self._config.batch_size, size_bytes + BATCH_OVERHEAD_BYTES)
        return min(whole_bytes, self._config.buffer_memory)

    def _new_batch(
        self, partition: TopicPartition, timestamp_ms: int, grant: Grant, now_ms: int
    ) -> ProducerBatch:
        self._batches_made += 1
        builder = BatchBuilder(self._config.compression_type, timestamp_ms)
        batch = self._batch_class(
            partition,
            self._batches_made,
            builder,
            grant,
            self._config.delivery_timeout_ms,
            now_ms,
            self._trace,
        )
        self._incomplete[batch] = None
        return batch

    def _has_room(self, batch: ProducerBatch, size_bytes: int) -> bool:
        return batch.size_bytes + size_bytes <= self._batch_size and batch.state is BatchState.OPEN

    def _is_full(self, batch: ProducerBatch) -> bool:
        return batch.size_bytes >= self._batch_size or batch.state is not BatchState.OPEN

    # batches go out

    def ready(self, now_ms: int) -> ReadyCheck:
        """Look at the oldest batch of each partition (PRD-ACC-02)."""
        check = ReadyCheck()
        for partition, queue in self._queues.items():
            if not queue or partition in self._muted:
                continue
            leader = self._metadata.leader_of(partition)
            if leader is None:
                check.unknown_leader_topics.add(partition[0])
            elif leader not in check.nodes and (batch := self._candidate(queue)):
                ready_ms = self._ready_at_ms(batch, queue, now_ms)
                if ready_ms <= now_ms:
                    check.nodes.add(leader)
                elif check.next_check_ms is None or ready_ms < check.next_check_ms:
                    check.next_check_ms = ready_ms
        return check

    def _candidate(self, queue: deque[ProducerBatch]) -> ProducerBatch | None:
        """The batch of a queue that is next to go, if any may: the oldest, unless sequences forbid."""
        return self._transactions.pick(queue) if self._transactions else queue[0]

    def _ready_at_ms(self, batch: ProducerBatch, queue: deque[ProducerBatch], now_ms: int) -> int:
        if batch.attempts:
            return batch.retry_at_ms
        hurry = self.pool.waiting or self._is_closed or self._flushes
        if hurry or len(queue) > 1 or self._is_full(batch):
            return now_ms
        return batch.created_ms + self._config.linger_ms

    def drain(self, nodes: Iterable[int], now_ms: int) -> dict[int, list[ProducerBatch]]:
        """For each node at most one batch a partition, together at most max.request.size (PRD-ACC-05)."""
        drained = {node_id: self._drain_node(node_id, now_ms) for node_id in sorted(nodes)}
        return {node_id: batches for node_id, batches in drained.items() if batches}

    def _drain_node(self, node_id: int, now_ms: int) -> list[ProducerBatch]:
        """Begin where the last request to this node ended, so that no partition starves (PRD-ACC-06)."""
        partitions = self._metadata.partitions_led_by(node_id)
        batches: list[ProducerBatch] = []
        size_bytes = 0
        start = self._drain_from.get(node_id, 0)
        self._drain_from[node_id] = start + 1
        for offset in range(len(partitions)):
            partition = partitions[(start + offset) % len(partitions)]
            queue = self._queues.get(partition)
            if not queue or partition in self._muted:
                continue
            batch = self._candidate(queue)
            if batch is None or (batch.attempts and batch.retry_at_ms > now_ms):
                continue
            if batches and size_bytes + batch.size_bytes > self._config.max_request_size:
                self._drain_from[node_id] = start + offset
                break
            queue.remove(batch)
            self._prepare(batch, now_ms)
            size_bytes += batch.size_bytes
            batches.append(batch)
        return batches

    def _prepare(self, batch: ProducerBatch, now_ms: int) -> None:
        """The producer id, epoch and sequence are settled here, once, and the bytes are made."""
        if self._transactions is not None and not batch.has_sequence:
            self._transactions.assign_sequence(batch)
        batch.drained(now_ms)
        batch.payload()

    def reenqueue(self, batch: ProducerBatch, now_ms: int) -> None:
        """Take a failed attempt back, after its backoff, in front of all younger batches."""
        batch.reenqueued(now_ms, now_ms + self.retry_delay_ms(batch))
        self.insert_in_sequence_order(batch)

    def retry_delay_ms(self, batch: ProducerBatch) -> int:
        return self._backoff.delay_ms(batch.attempts)

    def insert_in_sequence_order(self, batch: ProducerBatch) -> None:
        queue = self._queues[batch.partition]
        position = next((i for i, other in enumerate(queue) if other.number > batch.number), len(queue))
        queue.insert(position, batch)

    def mute(self, partition: TopicPartition) -> None:
        """Nothing of this partition goes out until it is unmuted (PRD-ACC-08)."""
        self._muted.add(partition)

    def unmute(self, partition: TopicPartition) -> None:
        self._muted.discard(partition)

    # batches end

    def take_expired(self, now_ms: int) -> list[ProducerBatch]:
        """Remove and give the queued batches whose delivery timeout is over, oldest first."""
        expired = []
        for queue in self._queues.values():
            while queue and queue[0].has_expired(now_ms):
                expired.append(queue.popleft())
        return expired

    def next_expiry_ms(self) -> int | None:
        """When the first queued batch expires (PRD-EXP-05)."""
        return min((queue[0].expires_ms for queue in self._queues.values() if queue), default=None)

    def release(self, batch: ProducerBatch) -> None:
        """A batch has its final state and no request holds its bytes any more: its memory is free (PRD-ACC-11)."""
        self._incomplete.pop(batch, None)
        self.pool.give_back(batch.grant)

    def abort_queued(
        self, error_for: Callable[[ProducerBatch], SendError], now_ms: int
    ) -> list[ProducerBatch]:
        """End all queued batches with an error; gives them, for publishing."""
        aborted = [batch for queue in self._queues.values() for batch in queue]
        for queue in self._queues.values():
            queue.clear()
        for batch in aborted:
            batch.abort(error_for(batch), now_ms)
        return aborted

    def has_queued(self) -> bool:
        return any(self._queues.values())

    # flush and close

    def incomplete(self) -> list[ProducerBatch]:
        """All batches that have no final state, or whose bytes a request still holds."""
        return [batch for batch in self._incomplete if not batch.is_published]

    def begin_flush(self) -> None:
        """Everything is ready to be sent, until ``end_flush`` (PRD-CLS-01)."""
        self._flushes += 1

    def end_flush(self) -> None:
        self._flushes -= 1

    def close(self) -> None:
        self._is_closed = True
