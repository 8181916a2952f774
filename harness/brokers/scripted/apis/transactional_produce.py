"""What precedes the append of a transaction's batches: the coordinator has to know that they belong to it.

A request has batches of one producer. While the markers of the transaction before are being written, a broker that adds
partitions itself tries again for a moment, because the client would have to send the whole request again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.answer import NS_PER_MS, Request
from harness.brokers.scripted.refusals import RequestRefused
from harness.brokers.scripted.state import ClusterState
from harness.brokers.scripted.topics import Partition, Topic
from harness.brokers.scripted.transactions.admission import UNVERIFIABLE, First, Support, Writer, admit
from harness.brokers.scripted.transactions.metadata import TopicPartition
from harness.wire.records import NO_PRODUCER_ID
from harness.wire.records.model import BATCH_OVERHEAD_BYTES, HEADER, TRANSACTIONAL

_GENERIC_FROM_VERSION: Final = 11
_ADDS_FROM_VERSION: Final = 12
#: ``add.partitions.to.txn.retry.backoff.ms`` and ``add.partitions.to.txn.retry.backoff.max.ms``.
RETRY_BACKOFF_NS: Final = 20 * NS_PER_MS
RETRY_BACKOFF_MAX_NS: Final = 100 * NS_PER_MS
_ATTRIBUTES, _PRODUCER_ID, _EPOCH, _SEQUENCE = 5, 9, 10, 11

Refused = Mapping[TopicPartition, ErrorCode]


class Offered(NamedTuple):
    """A batch for a partition that exists."""

    topic: Topic
    partition: Partition
    batch: bytes


class Transactional(NamedTuple):
    """The transactional batches of a request."""

    writer: Writer
    support: Support
    first: dict[TopicPartition, tuple[Partition, int]]


def transactional(request: Request, offered: Iterable[Offered]) -> Transactional | None:
    """Return the transactional batches of a request, or None. Raises RequestRefused if several producers wrote them."""
    producers: set[tuple[int, int]] = set()
    first: dict[TopicPartition, tuple[Partition, int]] = {}
    for topic, partition, batch in offered:
        if len(batch) < BATCH_OVERHEAD_BYTES:
            continue
        fields = HEADER.unpack_from(batch)
        if fields[_ATTRIBUTES] & TRANSACTIONAL and fields[_PRODUCER_ID] > NO_PRODUCER_ID:
            producers.add((fields[_PRODUCER_ID], fields[_EPOCH]))
            first[topic.name, partition.index] = partition, fields[_SEQUENCE]
    if not producers:
        return None
    if len(producers) > 1:
        raise RequestRefused(ErrorCode.invalid_producer_id_mapping)
    [(producer_id, epoch)] = producers
    version = request.version
    support = Support.GENERIC_ERROR if version >= _GENERIC_FROM_VERSION else Support.DEFAULT_ERROR
    if version >= _ADDS_FROM_VERSION:
        support = Support.ADD_PARTITION
    return Transactional(Writer(request.body.transactional_id, producer_id, epoch), support, first)


def verify(state: ClusterState, node_id: int, found: Transactional) -> Refused:
    """Return the errors of the batches that may not be appended now."""
    refused: dict[TopicPartition, ErrorCode] = {}
    batches: dict[TopicPartition, First] = {}
    for key, (partition, sequence) in found.first.items():
        if partition.leader != node_id:
            refused[key] = ErrorCode.not_leader_or_follower
        else:
            batches[key] = First(partition.log.producer_state, sequence)
    return refused | admit(state, node_id, found.writer, batches, found.support)


def is_transient(found: Transactional, refused: Refused) -> bool:
    """Return whether the broker itself tries again."""
    return found.support.adds and ErrorCode.concurrent_transactions in refused.values()


def translated(found: Transactional, refused: Refused) -> Refused:
    """Return the errors as the client learns them: what it should just try again is NOT_ENOUGH_REPLICAS."""
    retried = UNVERIFIABLE if found.support.adds else UNVERIFIABLE | {ErrorCode.concurrent_transactions}
    return {key: ErrorCode.not_enough_replicas if code in retried else code for key, code in refused.items()}
