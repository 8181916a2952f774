"""What each setting of a producer does, in one sentence. ``kafka-trial explain KEY`` prints it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MEANINGS: Final[Mapping[str, str]] = {
    "acks": "Which replicas must have a batch before the broker acknowledges it: all in sync, the leader, or none.",
    "batch.size": "The size in bytes at which a batch of one partition is full and is sent without waiting.",
    "buffer.memory": "The bytes that records may take until they are sent; after that, sending blocks.",
    "client.dns.lookup": "Whether the client tries every address of a broker's name, or only its canonical name.",
    "compression.gzip.level": "How much time gzip spends to make batches smaller.",
    "compression.lz4.level": "How much time lz4 spends to make batches smaller.",
    "compression.type": "The codec with which the client compresses each batch.",
    "compression.zstd.level": "How much time zstd spends to make batches smaller.",
    "connections.max.idle.ms": "How long an unused connection stays open.",
    "delivery.timeout.ms": "How long a record may take from send to its result, including all retries.",
    "enable.idempotence": "Whether batches have sequences, so that brokers store a repeated batch only once.",
    "enable.metrics.push": "Whether the client sends its metrics to a broker that asks for them.",
    "linger.ms": "How long a batch that is not full waits for more records.",
    "max.block.ms": "How long a send call may block for metadata or for memory.",
    "max.in.flight.requests.per.connection": "How many requests may be unanswered on one connection.",
    "max.request.size": "The size in bytes of the largest request, and so of the largest record.",
    "metadata.max.age.ms": "After how long the client asks for metadata again, although nothing changed.",
    "metadata.max.idle.ms": "How long the client keeps the metadata of a topic to which it sends nothing.",
    "metadata.recovery.rebootstrap.trigger.ms": "After how long without metadata the client begins again with its "
    "bootstrap servers.",
    "metadata.recovery.strategy": "What the client does if no known broker is available: begin again, or nothing.",
    "metrics.num.samples": "How many samples the client keeps for each of its metrics.",
    "metrics.recording.level": "The lowest level of the metrics that the client computes.",
    "metrics.sample.window.ms": "How long one sample of a metric is.",
    "partitioner.adaptive.partitioning.enable": "Whether records without a key go less often to slow brokers.",
    "partitioner.availability.timeout.ms": "After how long without progress a partition gets no records without a key.",
    "partitioner.ignore.keys": "Whether a record's key has no influence on its partition.",
    "receive.buffer.bytes": "The size of the TCP receive buffer; -1 is that of the operating system.",
    "reconnect.backoff.max.ms": "The longest pause before the client connects to a broker again.",
    "reconnect.backoff.ms": "The first pause before the client connects to a broker again; it doubles each time.",
    "request.timeout.ms": "How long the client waits for a response before the request has failed.",
    "retries": "How many times the client sends a failed batch again.",
    "retry.backoff.max.ms": "The longest pause before a failed request is sent again.",
    "retry.backoff.ms": "The first pause before a failed request is sent again; it doubles each time.",
    "send.buffer.bytes": "The size of the TCP send buffer; -1 is that of the operating system.",
    "socket.connection.setup.timeout.max.ms": "The longest time that a connection attempt may take.",
    "socket.connection.setup.timeout.ms": "How long the first connection attempt may take; it doubles each time.",
}
