"""RecordAccumulator: all batches without a result: how records are added, and how batches return or end.

BatchQueues holds the waiting batches, and BatchDrain decides which may be sent. A record joins the open batch of its
partition, or opens the next one with memory from the pool. A failed batch returns to its queue. One that is too large
is replaced by its parts. A batch that ends returns its memory (PRD-ACC-01, -04, -11).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from clients.reference.common.backoff import ExponentialBackoff
from clients.reference.config.producer_config import ProducerConfig
from clients.reference.errors import SendError
from clients.reference.metadata.metadata import Metadata, TopicMetadata, TopicPartition
from clients.reference.network.node_latency import NodeLatencies
from clients.reference.ports import Jitter
from clients.reference.producer import batch_split
from clients.reference.producer.batch_drain import BatchDrain
from clients.reference.producer.buffer_pool import BufferPool, Grant
from clients.reference.producer.compression_ratio_estimator import CompressionRatioEstimator
from clients.reference.producer.producer_batch import ProducerBatch
from clients.reference.producer.send_handle import Outgoing
from clients.reference.producer.transaction_manager import TransactionManager
from clients.reference.telemetry.trace import BatchCreated, BatchSplit, Trace
from harness.wire.records import BATCH_OVERHEAD_BYTES, BatchBuilder, Codec


class Appended(msgspec.Struct):
    """Where a record was added. ``wake`` requests a round: a batch is new or full."""

    batch: ProducerBatch
    index: int
    size_bytes: int
    wake: bool


class RecordAccumulator(BatchDrain):
    """All batches without a result: those in queues, and those in flight, which the Sender tracks."""

    buffer_pool: type[BufferPool] = BufferPool  # a variant of the client replaces it
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
        super().__init__(
            config,
            metadata,
            transactions,
            self.ratio_estimator(config.compression_type),
            self.buffer_pool(config.buffer_memory),
        )
        self._trace = trace
        self._batch_class = batch_class
        self._batch_size = max(config.batch_size, 1)
        self._level = _level(config)
        self._backoff = ExponentialBackoff(config.retry_backoff_ms, config.retry_backoff_max_ms, jitter)
        self._batches_made = 0
        self._incomplete: dict[ProducerBatch, None] = {}
        self.latencies = NodeLatencies(config.partitioner_availability_timeout_ms)

    # Adding records

    def append(
        self, record: Outgoing, partition: TopicPartition, now_ms: int, grant: Grant | None = None
    ) -> Appended | None:
        """Add a record to its partition. Return None if there is no memory for a new batch.

        ``grant`` is memory for which the record waited. It is returned if it is not needed.
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
        """Return the memory for a batch opened for a record of this size, which may exceed batch.size."""
        whole_bytes = max(self._config.batch_size, size_bytes + BATCH_OVERHEAD_BYTES)
        return min(whole_bytes, self._config.buffer_memory)

    def _has_room(self, batch: ProducerBatch, size_bytes: int) -> bool:
        """Return whether a record fits, by the estimated size on the wire and by the available memory."""
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
        if self._config.transactional_id is not None:
            batch.is_transactional = True
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

    # Retries and splits

    def reenqueue(self, batch: ProducerBatch, now_ms: int) -> None:
        """Put a failed batch back into its queue, before all newer batches. It may be sent after its backoff."""
        batch.reenqueued(now_ms, now_ms + self.retry_delay_ms(batch))
        self.insert_in_sequence_order(batch)

    def retry_delay_ms(self, batch: ProducerBatch) -> int:
        """Return the backoff after ``attempts`` + 1 failures, with new jitter at each call."""
        return self._backoff.delay_ms(batch.attempts)

    def split_and_reenqueue(self, batch: ProducerBatch, now_ms: int) -> list[ProducerBatch]:
        """Replace a batch in flight by smaller ones, first in its queue and in order (PRD-SPL-01).

        The parts hold no memory from the pool. The whole's memory is returned by its ``release`` (PRD-ACC-11).
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

    # Load, for the partitioner

    def load_of(self, topic: str, known: TopicMetadata) -> list[tuple[int, int]] | None:
        """Return the waiting batches by partition, as in KIP-794. None if the load is even or should not matter.

        The load is available once every partition has had a batch. Otherwise a partition without a queue would never
        be chosen. Partitions whose broker has accepted nothing for too long are left out
        (partitioner.availability.timeout.ms).
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

    # Ends of batches

    def release(self, batch: ProducerBatch) -> None:
        """Free the memory of a batch that has its final state and is in no request any more (PRD-ACC-11)."""
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
        """Abort the queued batches, all or those that were never drained. Return them, for publishing."""
        aborted = [
            batch for batch in self.queued() if not (only_undrained and (batch.attempts or batch.goes_again))
        ]
        for batch in aborted:
            self._take_out(batch)
            batch.abort(error_for(batch), now_ms)
        return aborted

    def unreleased(self) -> list[ProducerBatch]:
        """Return the batches whose memory is not free yet."""
        return list(self._incomplete)

    def has_incomplete(self) -> bool:
        """Return whether a batch has no result, or is in a request that has not completed."""
        return bool(self._incomplete)

    def incomplete(self) -> list[ProducerBatch]:
        """Return all batches that are not published, and whose memory is not free yet."""
        return [batch for batch in self._incomplete if not batch.is_published]


def _level(config: ProducerConfig) -> int | None:
    """Return the compression level, or None if the codec has no levels."""
    return {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }.get(config.compression_type)
