"""The harness's own requests to a cluster over INTERNAL: metadata, topics, offsets, and the bytes of a log.

Each request is used in one version that every Kafka from 3.1 to 4.x supports (checked against ApiVersions on each
connection). Fetch stays at version 12, the last that identifies topics by name. An error that Kafka calls retriable is
retried until a deadline. Any other is raised at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypeVar

from kio.schema.create_topics.v7 import CreateTopicsRequest, CreateTopicsResponse
from kio.schema.create_topics.v7.request import CreatableTopic, CreatableTopicConfig
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v12 import FetchRequest, FetchResponse
from kio.schema.fetch.v12.request import FetchPartition, FetchTopic
from kio.schema.fetch.v12.response import PartitionData
from kio.schema.list_offsets.v7 import ListOffsetsRequest, ListOffsetsResponse
from kio.schema.list_offsets.v7.request import ListOffsetsPartition, ListOffsetsTopic
from kio.schema.metadata.v12 import MetadataRequest, MetadataResponse
from kio.schema.metadata.v12.request import MetadataRequestTopic
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i16, i32, i32Timedelta, i64

from harness.brokers.connection import BrokerConnection, NotYet, require
from harness.brokers.credentials import Credentials
from harness.brokers.deadline import insist
from harness.model.addresses import Address
from harness.model.errors import KafkaTrialError

Answer = TypeVar("Answer")

TIMEOUT_S = 30.0
FETCH_BYTES = 2**20
EARLIEST, LATEST = -2, -1

#: With a consumer's replica id, ListOffsets returns the high watermark. With the replica id that Kafka reserves for
#: debugging (``ListOffsetsRequest.DEBUGGING_REPLICA_ID``), it returns the log's end, which includes records that are
#: not replicated yet.
_CONSUMER, _DEBUGGING = BrokerId(-1), BrokerId(-2)


class Admin:
    """Sends requests to the nodes that ``nodes()`` returns (node id -> INTERNAL address), with ``credentials``."""

    def __init__(
        self, nodes: Callable[[], Mapping[int, Address]], credentials: Credentials | None = None
    ) -> None:
        self._nodes, self._credentials = nodes, credentials
        self._connections: dict[int, BrokerConnection] = {}

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            connection.close()

    def node_ids(self) -> tuple[int, ...]:
        """The ids of the nodes that are up, sorted."""
        return tuple(sorted(self._nodes()))

    async def ask(self, message: Any, answer: type[Answer], node_id: int | None = None) -> Answer:
        """Return the response of a node (of any, if None). Raises NotYet if there was none."""
        return await self._to(self._up()[0] if node_id is None else node_id).request(message, answer)

    async def api_versions(self, node_id: int) -> Mapping[int, tuple[int, int]]:
        """Return API key -> (lowest, highest) version that a node supports."""
        return await self._to(node_id).versions()

    async def metadata(self, node_id: int | None, topic: str | None = None) -> MetadataResponse:
        """Return a node's (None: any node's) metadata of the brokers and one topic. NotYet: it does not respond."""
        return await self.ask(metadata_request(topic), MetadataResponse, node_id)

    async def create_topic(
        self,
        topic: str,
        partitions: int,
        replication_factor: int = -1,
        config: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic and wait until every node knows a leader of every partition, and each leader acts as one.

        ``replication_factor`` -1 selects the cluster's default. Raises KafkaTrialError if the request is rejected or
        takes more than 30 s.
        """
        request = _create_topics_request(topic, partitions, replication_factor, config or {})
        attempts = 0

        async def create() -> None:
            nonlocal attempts
            attempts += 1
            answer = await self.ask(request, CreateTopicsResponse)
            [result] = answer.topics
            if attempts > 1 and result.error_code == ErrorCode.topic_already_exists:
                return  # by an earlier attempt whose response was lost
            require(result.error_code, f"creating topic {topic!r} ({result.error_message})")

        await insist(f"creating topic {topic!r}", TIMEOUT_S, create)
        await insist(
            f"electing the leaders of {topic!r}", TIMEOUT_S, lambda: self.all_lead(topic, partitions)
        )

    async def all_lead(self, topic: str, partitions: int) -> None:
        """Raise NotYet unless every node knows a leader of every partition, and each leader acts as one."""
        leaders = await self._leaders(topic)
        if len(leaders) != partitions:
            raise NotYet(
                "partitions-unknown", "the brokers do not know every partition of {topic!r}", topic=topic
            )
        for partition, leader in leaders.items():
            await self._list_offsets(topic, partition, LATEST, leader)

    async def all_in_sync(self, topic: str) -> None:
        """Raise NotYet if a node reports a replica that is not in sync, or does not respond."""
        for node_id in self._up():
            [found] = (await self.metadata(node_id, topic)).topics
            require(found.error_code, f"asking for {topic!r}")
            for part in found.partitions:
                if behind := set(part.replica_nodes) - set(part.isr_nodes):
                    raise NotYet(
                        "not-in-sync",
                        "{topic}-{partition} is not in sync on {behind}",
                        topic=topic,
                        partition=part.partition_index,
                        behind=sorted(behind),
                    )

    async def partitions(self, topic: str) -> list[int]:
        """Return the partitions of a topic, sorted. Raises NotYet if one has no leader at the moment."""
        return sorted(await self._leaders(topic))

    async def list_offsets(
        self, topic: str, partition: int, timestamp: int, *, committed: bool = False
    ) -> int:
        """Return the offset at ``timestamp`` (ms), or at EARLIEST (the log's start) or LATEST (the high watermark).

        If only ``committed`` records count, LATEST is the last stable offset.
        """
        leader = await self.leader(topic, partition)
        return await self._list_offsets(topic, partition, timestamp, leader, committed=committed)

    async def log_end(self, topic: str, partition: int) -> int:
        """Return the offset after the leader's last record, replicated or not."""
        leader = await self.leader(topic, partition)
        # Only a leader answers a consumer's request, but any replica answers the debugging one.
        await self._list_offsets(topic, partition, LATEST, leader)
        return await self._list_offsets(topic, partition, LATEST, leader, _DEBUGGING)

    async def fetch(self, topic: str, partition: int, offset: int) -> PartitionData:
        """Return the leader's data from ``offset`` on (read_uncommitted), about 1 MiB, without waiting for more."""
        leader = await self.leader(topic, partition)
        answer = await self.ask(_fetch_request(topic, partition, offset), FetchResponse, leader)
        require(answer.error_code, f"fetching {topic}-{partition}")
        [data] = answer.responses[0].partitions
        require(data.error_code, f"fetching {topic}-{partition} from offset {offset}")
        return data

    async def _list_offsets(
        self,
        topic: str,
        partition: int,
        timestamp: int,
        node_id: int,
        replica_id: BrokerId = _CONSUMER,
        *,
        committed: bool = False,
    ) -> int:
        wanted = ListOffsetsPartition(partition_index=i32(partition), timestamp=i64(timestamp))
        request = ListOffsetsRequest(
            replica_id=replica_id,
            isolation_level=i8(int(committed)),
            topics=(ListOffsetsTopic(name=TopicName(topic), partitions=(wanted,)),),
        )
        answer = await self.ask(request, ListOffsetsResponse, node_id)
        [found] = answer.topics[0].partitions
        require(found.error_code, f"listing the offsets of {topic}-{partition}")
        return found.offset

    async def leader(self, topic: str, partition: int) -> int:
        """Return the node that leads a partition. Raises NotYet if none does, or if the nodes do not agree on it."""
        leaders = await self._leaders(topic)
        if partition not in leaders:
            raise NotYet("no-leader", "{topic}-{partition} has no leader", topic=topic, partition=partition)
        return leaders[partition]

    async def _leaders(self, topic: str) -> dict[int, int]:
        """Return partition -> leader, on which all nodes agree.

        The metadata of one node is not enough. While that node is behind, the previous leader still answers it as a
        leader does, and its log lacks the records that were acknowledged since.
        """
        [first, *others] = [await self._led(node_id, topic) for node_id in self._up()]
        if any(other != first for other in others):
            raise NotYet(
                "leader-disputed", "the brokers do not agree yet on who leads {topic!r}", topic=topic
            )
        return {partition: leader for partition, (leader, _) in first.items()}

    async def _led(self, node_id: int, topic: str) -> dict[int, tuple[int, int]]:
        """Return partition -> (leader, epoch), as ``node_id`` knows them."""
        [found] = (await self.metadata(node_id, topic)).topics
        require(found.error_code, f"asking broker {node_id} for {topic!r}")
        for partition in found.partitions:
            require(partition.error_code, f"asking broker {node_id} for {topic}-{partition.partition_index}")
        return {part.partition_index: (part.leader_id, part.leader_epoch) for part in found.partitions}

    def _up(self) -> tuple[int, ...]:
        if node_ids := self.node_ids():
            return node_ids
        raise KafkaTrialError("no-broker-up", "no broker of the cluster is up")

    def _to(self, node_id: int) -> BrokerConnection:
        address = self._nodes().get(node_id)
        if address is None:
            raise NotYet("broker-not-up", "broker {node_id} is not up", node_id=node_id)
        return self._connections.setdefault(node_id, BrokerConnection(address, credentials=self._credentials))


def metadata_request(topic: str | None) -> MetadataRequest:
    """Return a Metadata request for the brokers and one topic (None: only the brokers). It creates no topic."""
    return MetadataRequest(
        topics=() if topic is None else (MetadataRequestTopic(topic_id=None, name=TopicName(topic)),),
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
    )


def _create_topics_request(
    topic: str, partitions: int, replication_factor: int, config: Mapping[str, str]
) -> CreateTopicsRequest:
    wanted = CreatableTopic(
        name=TopicName(topic),
        num_partitions=i32(partitions),
        replication_factor=i16(replication_factor),
        assignments=(),
        configs=tuple(CreatableTopicConfig(name=name, value=value) for name, value in config.items()),
    )
    return CreateTopicsRequest(topics=(wanted,))


def _fetch_request(topic: str, partition: int, offset: int) -> FetchRequest:
    wanted = FetchPartition(
        partition=i32(partition), fetch_offset=i64(offset), partition_max_bytes=i32(FETCH_BYTES)
    )
    return FetchRequest(
        max_wait=i32Timedelta.parse(timedelta(0)),
        min_bytes=i32(0),
        max_bytes=i32(FETCH_BYTES),
        topics=(FetchTopic(topic=TopicName(topic), partitions=(wanted,)),),
        forgotten_topics_data=(),
    )
