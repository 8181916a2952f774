"""The requests of transactions as builders for any version, and the errors of their responses by what they are about.

Fields that a version lacks are left out. A client that does not use the second version of the transaction protocol
(KIP-890) keeps below the versions that belong to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import NamedTuple

from clients.reference.common.group_offsets import ConsumerGroupMetadata, OffsetAndMetadata
from clients.reference.common.requests import Message, message_of
from clients.reference.metadata.topic_metadata import TopicPartition
from clients.reference.ports import Node
from clients.reference.producer.producer_batch import ProducerId
from harness.wire.apis import Api
from harness.wire.error_table import KafkaError, error_for
from harness.wire.messages import make, message_class, nested

Build = Callable[[int], Message]
Errors = Mapping[TopicPartition, KafkaError]

#: The highest versions that belong to the first version of the protocol.
PRODUCE_V1_HIGHEST = 11
TXN_OFFSET_COMMIT_V1_HIGHEST = 4
END_TXN_V1_HIGHEST = 4
#: From the next version on, the request is one between brokers.
ADD_PARTITIONS_HIGHEST = 3
#: The first version of TxnOffsetCommit that says which member commits (KIP-447).
TXN_OFFSET_COMMIT_MEMBERS_LOWEST = 3
#: A coordinator that has this version of InitProducerId can raise the epoch of a known producer (KIP-360).
INIT_PRODUCER_ID_BUMP_LOWEST = 3
_FIRST_WITH_KEYS = 4
_FIRST_FOR_TRANSACTIONS = 1
NO_LEADER_EPOCH = -1


class Coordinator(NamedTuple):
    """A role that some broker has: the coordinator of a transactional.id, or of a consumer group."""

    key_type: int
    key: str

    @property
    def is_group(self) -> bool:
        """Whether it is a group's."""
        return self.key_type == GROUP


GROUP, TRANSACTION = 0, 1
FIND_COORDINATOR_LOWEST = _FIRST_FOR_TRANSACTIONS


def find_coordinator_request(of: Coordinator) -> Build:
    """Return a builder of FindCoordinator."""
    return lambda version: message_of(
        Api.FIND_COORDINATOR, version, key=of.key, key_type=of.key_type, coordinator_keys=(of.key,)
    )


def init_transactions_request(transactional_id: str, timeout_ms: int, known: ProducerId) -> Build:
    """Return a builder of InitProducerId with a transactional.id. ``known`` is the identity to raise, or none."""
    return lambda version: message_of(
        Api.INIT_PRODUCER_ID,
        version,
        transactional_id=transactional_id,
        transaction_timeout=timedelta(milliseconds=timeout_ms),
        producer_id=known.id,
        producer_epoch=known.epoch,
    )


def add_partitions_request(
    transactional_id: str, producer: ProducerId, partitions: Iterable[TopicPartition]
) -> Build:
    """Return a builder of AddPartitionsToTxn."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)

    def build(version: int) -> Message:
        topic_type = nested(
            message_class(Api.ADD_PARTITIONS_TO_TXN, version, "request"), "AddPartitionsToTxnTopic"
        )
        return message_of(
            Api.ADD_PARTITIONS_TO_TXN,
            version,
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer.id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=tuple(
                make(topic_type, name=topic, partitions=tuple(sorted(indexes)))
                for topic, indexes in topics.items()
            ),
        )

    return build


def add_offsets_request(transactional_id: str, producer: ProducerId, group_id: str) -> Build:
    """Return a builder of AddOffsetsToTxn."""
    return lambda version: message_of(
        Api.ADD_OFFSETS_TO_TXN,
        version,
        transactional_id=transactional_id,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        group_id=group_id,
    )


def txn_offset_commit_request(
    transactional_id: str,
    producer: ProducerId,
    group: ConsumerGroupMetadata,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
) -> Build:
    """Return a builder of TxnOffsetCommit."""
    topics: dict[str, list[tuple[int, OffsetAndMetadata]]] = {}
    for (topic, partition), committed in offsets.items():
        topics.setdefault(topic, []).append((partition, committed))

    def build(version: int) -> Message:
        message_type = message_class(Api.TXN_OFFSET_COMMIT, version, "request")
        topic_type = nested(message_type, "TxnOffsetCommitRequestTopic")
        partition_type = nested(message_type, "TxnOffsetCommitRequestPartition")
        return message_of(
            Api.TXN_OFFSET_COMMIT,
            version,
            transactional_id=transactional_id,
            group_id=group.group_id,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            generation_id=group.generation_id,
            member_id=group.member_id,
            group_instance_id=group.group_instance_id,
            topics=tuple(
                make(
                    topic_type,
                    name=topic,
                    partitions=tuple(_committed(partition_type, *item) for item in committed),
                )
                for topic, committed in topics.items()
            ),
        )

    return build


def _committed(partition_type: type[Message], partition: int, committed: OffsetAndMetadata) -> Message:
    epoch = committed.leader_epoch
    return make(
        partition_type,
        partition_index=partition,
        committed_offset=committed.offset,
        committed_leader_epoch=NO_LEADER_EPOCH if epoch is None else epoch,
        committed_metadata=committed.metadata,
    )


def end_txn_request(transactional_id: str, producer: ProducerId, *, committed: bool) -> Build:
    """Return a builder of EndTxn."""
    return lambda version: message_of(
        Api.END_TXN,
        version,
        transactional_id=transactional_id,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        committed=committed,
    )


# Responses


def found_coordinator(body: Message) -> tuple[KafkaError, Node | None]:
    """Return the error of a FindCoordinator response of any version, or the node that it names."""
    answer = body
    if body.__version__ >= _FIRST_WITH_KEYS:
        if len(body.coordinators) != 1:  # it was asked about one
            return error_for(-1), None
        [answer] = body.coordinators
    error = error_for(int(answer.error_code))
    return error, None if error.code else Node(answer.node_id, answer.host, answer.port)


def add_partitions_errors(body: Message) -> Errors:
    """Return each partition's code of an AddPartitionsToTxn response, 0 included."""
    return {
        (topic.name, part.partition_index): error_for(int(part.partition_error_code))
        for topic in body.results_by_topic_v3_and_below
        for part in topic.results_by_partition
    }


def txn_offset_commit_errors(body: Message) -> Errors:
    """Return each partition's code of a TxnOffsetCommit response, 0 included."""
    return {
        (topic.name, part.partition_index): error_for(int(part.error_code))
        for topic in body.topics
        for part in topic.partitions
    }
