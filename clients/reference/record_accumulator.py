"""RecordAccumulator: per partition a queue of batches, the newest open for records, the oldest next to be sent.

``ready`` says which nodes there is something for, ``drain`` takes it. Linger, batch.size, memory pressure, flush and
close decide when a batch may go; a failed batch waits its backoff instead, and goes back to where its records
belong: in front of everything younger (PRD-ACC-04, PRD-IDM-07).

When transactions come, "the transaction is being completed" joins the reasons in ``_hurry``, and nothing else changes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from clients.reference import batch_split
from clients.reference.backoff import ExponentialBackoff
from clients.reference.buffer_pool import BufferPool, Grant
from clients.reference.compression_ratio_estimator import CompressionRatioEstimator
from clients.reference.config import ProducerConfig
from clients.reference.delivery import Outgoing
from clients.reference.earliest import earliest
from clients.reference.errors import SendError
from clients.reference.metadata import Metadata, TopicMetadata, TopicPartition
from clients.reference.node_latency import NodeLatencies
from clients.reference.ports import Jitter
from clients.reference.producer_batch import ProducerBatch
from clients.reference.trace import BatchCreated, BatchSplit, Trace
from clients.reference.transaction_manager import TransactionManager
from harness.wire.records import BATCH_OVERHEAD_BYTES, BatchBuilder, Codec

Queue = deque[ProducerBatch]


class ReadyCheck(msgspec.Struct):
    """Nodes with something to send, topics whose leader nobody knows, and when the next batch comes of age."""

    nodes: set[int] = set()
    unknown_leader_topics: set[str] = set()
    next_check_ms: int | None = None


class Appended(msgspec.Struct):
    """Where a record went. ``wake`` asks for a round: a batch is new or full."""

    batch: ProducerBatch
    index: int
    size_bytes: int
    wake: bool


class RecordAccumulator:
    """All batches that have no result yet, in queues; those in flight are the Sender's.

    ``open`` has the batch of each partition that takes records. Only queues with batches are looked at in a round.
    """

    buffer_pool: type[BufferPool] = BufferPool  # a variant of the client swaps it
    ratio_estimator: type[CompressionRatioEstimator] = CompressionRatioEstimator

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
        self._batch_size = max(config.batch_size, 1)
        self._level = _level(config)
        self._backoff = ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, jitter)
        self._queues: dict[TopicPartition, Queue] = {}
        self._waiting: dict[TopicPartition, Queue] = {}
        self._muted: set[TopicPartition] = set()
        self._drain_from: dict[int, int] = {}
        self._batches_made = 0
        self._flushes = 0
        self._is_closed = False
        self._incomplete: dict[ProducerBatch, None] = {}
        self.open: dict[TopicPartition, ProducerBatch] = {}
        self.estimator = self.ratio_estimator(config.compression_type)
        self.latencies = NodeLatencies(config.partitioner_availability_timeout_ms)
        self.pool = self.buffer_pool(config.buffer_memory)

    # records come in

    def append(
        self, record: Outgoing, partition: TopicPartition, now_ms: int, grant: Grant | None = None
    ) -> Appended | None:
        """Add a record to its partition; None where a new batch finds no memory.

        ``grant`` is memory that was waited for; it is given back where it proves to be needless.
        """
        batch = self.open.get(partition)
        if batch is None or not self._has_room(batch, record.size_bytes):
            grant = grant or self.pool.take(self.memory_for(record.size_bytes))
            if grant is None:
                return None
            if batch is not None:
                self._close(batch, now_ms, "full")
            batch = self._open(partition, record.timestamp_ms, grant, now_ms)
        elif grant is not None:
            self.pool.give_back(grant)
        before_bytes = batch.builder.size_bytes
        index = batch.append(record.timestamp_ms, record.key, record.value, record.headers, record.callback)
        size_bytes = batch.builder.size_bytes - before_bytes
        return Appended(batch, index, size_bytes, wake=index == 0 or batch.is_full)

    def memory_for(self, size_bytes: int) -> int:
        """What a batch costs that is opened for a record of this size: a record may exceed batch.size."""
        whole_bytes = max(self._config.batch_size, size_bytes + BATCH_OVERHEAD_BYTES)
        return min(whole_bytes, self._config.buffer_memory)

    def _has_room(self, batch: ProducerBatch, size_bytes: int) -> bool:
        """By the estimate of its size on the wire, and by the memory that it holds or can still get."""
        if not batch.has_room(size_bytes) or batch.grant is None:
            return False
        missing = batch.builder.size_bytes + size_bytes - batch.grant.size_bytes
        return missing <= 0 or self.pool.grow(batch.grant, max(missing, self._config.batch_size))

    def _open(self, partition: TopicPartition, timestamp_ms: int, grant: Grant, now_ms: int) -> ProducerBatch:
        batch = self._new_batch(partition, self._new_builder(timestamp_ms), grant, now_ms)
        self._queue(partition).append(batch)
        self.open[partition] = batch
        return batch

    def _new_builder(self, timestamp_ms: int) -> BatchBuilder:
        return BatchBuilder(self._config.compression_type, timestamp_ms, self._level)

    def _new_batch(
        self, partition: TopicPartition, builder: BatchBuilder, grant: Grant | None, now_ms: int
    ) -> ProducerBatch:
        self._batches_made += 1
        batch = self._batch_class(
            partition,
            self._batches_made,
            builder,
            grant,
            self._config.delivery_timeout_ms,
            now_ms,
            self._trace,
            self._batch_size,
            self.estimator.growth(partition[0]),
        )
        self._incomplete[batch] = None
        if grant is not None:
            topic, index = partition
            memory_bytes = grant.size_bytes
            self._trace(
                BatchCreated(
                    at_ms=now_ms, batch=batch.name, topic=topic, partition=index, memory_bytes=memory_bytes
                )
            )
        return batch

    def _close(self, batch: ProducerBatch, now_ms: int, reason: str) -> None:
        self.open.pop(batch.partition, None)
        batch.close(now_ms, reason)

    def _queue(self, partition: TopicPartition) -> Queue:
        """The queue to put a batch into."""
        queue = self._queues.get(partition)
        if queue is None:
            queue = self._queues[partition] = deque()
        self._waiting[partition] = queue
        return queue

    # batches go out

    def ready(self, now_ms: int) -> ReadyCheck:
        """Look at the oldest batch of each partition (PRD-ACC-02)."""
        check = ReadyCheck()
        for partition, queue in self._waiting.items():
            leader = self._metadata.leader_of(partition)
            if leader is None:
                check.unknown_leader_topics.add(partition[0])
            elif leader not in check.nodes and partition not in self._muted:
                batch = self._candidate(queue)
                if batch is None:
                    continue
                ready_ms = self._ready_at_ms(batch, queue, now_ms)
                if ready_ms <= now_ms:
                    check.nodes.add(leader)
                elif check.next_check_ms is None or ready_ms < check.next_check_ms:
                    check.next_check_ms = ready_ms
        return check

    def _candidate(self, queue: Queue) -> ProducerBatch | None:
        """The batch of a queue that is next to go, if any may: the oldest, unless sequences forbid."""
        return self._transactions.pick(queue) if self._transactions else queue[0]

    def _ready_at_ms(self, batch: ProducerBatch, queue: Queue, now_ms: int) -> int:
        if batch.attempts:
            backoff_ms = batch.backs_off_until(self._leader_epoch(batch.partition))
            return now_ms if backoff_ms is None else backoff_ms
        return now_ms if self._hurry(batch, queue) else batch.created_ms + self._config.linger_ms

    def _hurry(self, batch: ProducerBatch, queue: Queue) -> str:
        """Why a batch may go before its linger is over, if it may."""
        if batch.is_full:
            return "full"
        if len(queue) > 1:
            return "queued"
        if self.pool.waiting:
            return "memory"
        if self._is_closed:
            return "closing"
        return "flush" if self._flushes else ""

    def _leader_epoch(self, partition: TopicPartition) -> int:
        return self._metadata.current_leader(partition).epoch

    def drain(self, nodes: Iterable[int], now_ms: int) -> dict[int, list[ProducerBatch]]:
        """For each node at most one batch a partition, together at most max.request.size (PRD-ACC-05)."""
        drained = ((node_id, self._drain_node(node_id, now_ms)) for node_id in sorted(nodes))
        return {node_id: batches for node_id, batches in drained if batches}

    def _drain_node(self, node_id: int, now_ms: int) -> list[ProducerBatch]:
        """Begin where the last request to this node ended, so that no partition starves (PRD-ACC-06)."""
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
        """Make an open batch bytes, so that its true size is known; what it compressed to is a lesson."""
        if self.open.get(batch.partition) is batch:
            over = now_ms >= batch.created_ms + self._config.linger_ms
            hurry = self._hurry(batch, self._waiting[batch.partition])
            self._close(batch, now_ms, hurry or ("linger" if over else "along"))
        if batch.uncompressed_bytes:
            return
        batch.payload()
        self.estimator.observed(batch.partition[0], batch.compression_ratio)
        if batch.grant:
            self.pool.shrink(batch.grant, max(self._config.batch_size, batch.size_bytes))

    def _prepare(self, batch: ProducerBatch, now_ms: int) -> None:
        """The producer id, epoch and sequence are settled here, once (PRD-IDM-03)."""
        if self._transactions is not None and not batch.has_sequence:
            self._transactions.assign_sequence(batch, now_ms)
        batch.leader_epoch = self._leader_epoch(batch.partition)
        batch.drained(now_ms)

    def _remove(self, batch: ProducerBatch) -> None:
        queue = self._waiting[batch.partition]
        queue.remove(batch)
        if not queue:
            del self._waiting[batch.partition]

    def reenqueue(self, batch: ProducerBatch, now_ms: int) -> None:
        """Take a failed attempt back, after its backoff, in front of all younger batches."""
        batch.reenqueued(now_ms, now_ms + self.retry_delay_ms(batch))
        self.insert_in_sequence_order(batch)

    def retry_delay_ms(self, batch: ProducerBatch) -> int:
        """The backoff after one failure more than ``attempts``, with new jitter at each call."""
        return self._backoff.delay_ms(batch.attempts)

    def insert_in_sequence_order(self, batch: ProducerBatch) -> None:
        """Into its queue by ``order``, in front of everything younger (PRD-IDM-07)."""
        queue = self._queue(batch.partition)
        position = next((i for i, other in enumerate(queue) if other.order > batch.order), len(queue))
        queue.insert(position, batch)

    def split_and_reenqueue(self, batch: ProducerBatch, now_ms: int) -> list[ProducerBatch]:
        """Replace a batch in flight by smaller ones, first in its queue and in order (PRD-SPL-01).

        The parts hold no memory of the pool: the whole's is returned by its ``release`` (PRD-ACC-11).
        """
        self.estimator.was_split(batch.partition[0], batch.compression_ratio)
        parts = batch_split.split(
            batch,
            self._batch_size,
            self._new_builder,
            lambda builder: self._new_batch(batch.partition, builder, None, now_ms),
            now_ms,
        )
        for part in parts:
            self.insert_in_sequence_order(part)
        self._trace(
            BatchSplit(at_ms=now_ms, batch=batch.name, parts=len(parts), record_count=batch.record_count)
        )
        return parts

    def mute(self, partition: TopicPartition) -> None:
        """Nothing of this partition goes out until it is unmuted (PRD-ACC-08)."""
        self._muted.add(partition)

    def unmute(self, partition: TopicPartition) -> None:
        """Undo ``mute``; a partition that is not muted may be named."""
        self._muted.discard(partition)

    # what the partitioner asks

    def load_of(self, topic: str, known: TopicMetadata) -> list[tuple[int, int]] | None:
        """Batches waiting by partition, as KIP-794 counts them; None where they are alike or not to be counted.

        Only once every partition had a batch: before that a partition without a queue would never be chosen. What
        waits for a broker that takes nothing for too long is left out (partitioner.availability.timeout.ms).
        """
        if not self._config.partitioner_adaptive_partitioning_enable or len(known.partitions) < 2:
            return None
        queues = {partition: self._queues.get((topic, partition)) for partition in known.partitions}
        if any(queue is None for queue in queues.values()):
            return None
        load = []
        for partition, queue in sorted(queues.items()):
            leader = self._metadata.leader_of((topic, partition))
            if leader is not None and not (queue and self.latencies.is_slow(leader)):
                load.append((partition, len(queue or ())))
        if len(load) == len(queues) and len({waiting for _, waiting in load}) == 1:
            return None
        return load or None

    def is_filling(self, partition: TopicPartition) -> bool:
        """Is there a batch with room?"""
        batch = self.open.get(partition)
        return batch is not None and not batch.is_full

    # batches end

    def take_expired(self, now_ms: int) -> list[ProducerBatch]:
        """Remove and give the queued batches whose delivery timeout is over, by partition, oldest first."""
        expired = []
        for queue in self._waiting.values():
            for batch in queue:
                if not batch.has_expired(now_ms):
                    break
                expired.append(batch)
        for batch in expired:
            self._take_out(batch, now_ms)
        return expired

    def _take_out(self, batch: ProducerBatch, now_ms: int) -> None:
        """A queued batch ends where it is."""
        if self.open.get(batch.partition) is batch:
            del self.open[batch.partition]
        self._remove(batch)

    def next_expiry_ms(self) -> int | None:
        """When the first queued batch expires (PRD-EXP-05)."""
        return earliest(*[queue[0].expires_ms for queue in self._waiting.values()])

    def release(self, batch: ProducerBatch) -> None:
        """A batch has its final state and no request holds its bytes any more: its memory is free (PRD-ACC-11)."""
        self._incomplete.pop(batch, None)
        if batch.grant is not None:
            self.pool.give_back(batch.grant)

    def abort_queued(
        self,
        error_for: Callable[[ProducerBatch], SendError],
        now_ms: int,
        *,
        only_undrained: bool = False,
    ) -> list[ProducerBatch]:
        """End queued batches with an error, all or those that were never drained; gives them, for publishing."""
        queued = [batch for queue in self._waiting.values() for batch in queue]
        aborted = [batch for batch in queued if not (only_undrained and (batch.attempts or batch.goes_again))]
        for batch in aborted:
            self._take_out(batch, now_ms)
            batch.abort(error_for(batch), now_ms)
        return aborted

    def has_queued(self) -> bool:
        """Does any batch wait in a queue? Those in flight do not count."""
        return bool(self._waiting)

    def queued(self) -> list[ProducerBatch]:
        """The batches that wait in queues, by partition, oldest first."""
        return [batch for queue in self._waiting.values() for batch in queue]

    def unreleased(self) -> list[ProducerBatch]:
        """The batches whose memory is not free yet."""
        return list(self._incomplete)

    # flush and close

    def incomplete(self) -> list[ProducerBatch]:
        """All batches that have no final state, or whose bytes a request still holds."""
        return [batch for batch in self._incomplete if not batch.is_published]

    def begin_flush(self) -> None:
        """Everything is ready to be sent, until ``end_flush`` (PRD-CLS-01)."""
        self._flushes += 1

    def end_flush(self) -> None:
        """Once for each ``begin_flush``: they nest."""
        self._flushes -= 1

    def close(self) -> None:
        """From now on everything is ready to be sent, without linger (PRD-CLS-03)."""
        self._is_closed = True


def _level(config: ProducerConfig) -> int | None:
    """How hard the codec shall try; None where it has no levels."""
    return {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }.get(config.compression_type)
