"""PRD-ACC: how records become batches, which batches may be sent when, and the memory that they take."""

from __future__ import annotations

from suites.requirements.behaviour import REFERENCE, Group, must, should

ACCUMULATOR = Group(
    "PRD-ACC",
    "Accumulator and memory",
    (
        should(
            "PRD-ACC-01",
            "A record joins the last open batch of its partition, or opens the next one if that batch has no room. A "
            "record larger than batch.size is a batch by itself.",
            "RecordAccumulator, MemoryRecordsBuilder",
            "clients/reference/producer/record_accumulator.py: RecordAccumulator.append",
            "clients/reference/producer/producer_batch.py: ProducerBatch.has_room",
        ),
        should(
            "PRD-ACC-02",
            "A partition is ready if its leader is known, it is neither muted nor backing off, and its first batch is "
            "full, followed by another, past linger, or requested by flush, close or a wait for memory.",
            "RecordAccumulator",
            "clients/reference/producer/batch_drain.py: BatchDrain.ready",
            scope=REFERENCE,
        ),
        should(
            "PRD-ACC-03",
            "A batch with room left waits for linger.ms, and no longer.",
            "KIP-1030; RecordAccumulator",
            "clients/reference/producer/batch_drain.py: BatchDrain._ready_at_ms",
        ),
        should(
            "PRD-ACC-04",
            "A batch to be sent again is first in its queue and waits for its backoff, not for linger.",
            "KIP-580; RecordAccumulator",
            "clients/reference/producer/record_accumulator.py: RecordAccumulator.reenqueue",
            "clients/reference/producer/producer_batch.py: ProducerBatch.backs_off_until",
        ),
        should(
            "PRD-ACC-05",
            "A Produce request has at most one batch per partition, and at most max.request.size bytes unless its "
            "only batch is larger.",
            "RecordAccumulator",
            "clients/reference/producer/batch_drain.py: BatchDrain.drain",
            "clients/reference/producer/sender.py: Sender._send_produce_request",
        ),
        should(
            "PRD-ACC-06",
            "The partitions of each node take turns in being first, so that none starves.",
            "RecordAccumulator",
            "clients/reference/producer/batch_drain.py: BatchDrain._drain_node",
        ),
        should(
            "PRD-ACC-07",
            "Batches without a known leader stay queued, make the client request their topic, and continue to age.",
            "RecordAccumulator, Sender",
            "clients/reference/producer/batch_drain.py: BatchDrain.ready",
            "clients/reference/producer/sender.py: Sender._send_producer_data",
        ),
        must(
            "PRD-ACC-08",
            "With one request in flight, a partition sends nothing while one of its batches is in flight, and so "
            "keeps its order.",
            "Sender, RecordAccumulator",
            "clients/reference/config/producer_config.py: ProducerConfig.guarantee_message_order",
            "clients/reference/producer/batch_drain.py: BatchDrain.mute",
        ),
        should(
            "PRD-ACC-09",
            "Without free memory, a send waits in first-come, first-served order for the rest of max.block.ms, and "
            "then fails as buffer exhausted.",
            "BufferPool",
            "clients/reference/producer/buffer_pool.py: BufferPool",
            "clients/reference/producer/blocked_sends.py: BlockedSends",
        ),
        should(
            "PRD-ACC-10",
            "A record that exceeds max.request.size or buffer.memory is refused, and never sent.",
            "KafkaProducer",
            "clients/reference/producer/producer.py: ProducerCore._refusal",
            "clients/reference/producer/record_size.py: size_of_record",
        ),
        must(
            "PRD-ACC-11",
            "Memory is returned exactly once, however a batch ends. An idle producer has all of it.",
            "KAFKA-19012; BufferPool, Sender",
            "clients/reference/producer/buffer_pool.py: BufferPool.give_back",
            "clients/reference/producer/record_accumulator.py: RecordAccumulator.release",
            "clients/reference/producer/invariants.py: not_at_rest",
            scope=REFERENCE,
        ),
        must(
            "PRD-ACC-12",
            "The bytes of a batch do not change while any request with them can still be written, even if the batch "
            "has expired.",
            "KAFKA-19012; Sender",
            "clients/reference/producer/producer_batch.py: ProducerBatch.payload",
            "clients/reference/producer/sender.py: Sender._let_go",
        ),
        should(
            "PRD-ACC-13",
            "Nodes that cannot be sent to now do not delay others, and the loop sleeps no longer than until the first "
            "of them is ready.",
            "Sender, NetworkClient",
            "clients/reference/producer/sender.py: Sender._usable_nodes",
            "clients/reference/network/network_client.py: NetworkClient.usable_at_ms",
        ),
    ),
)
