"""The harness's changes to a running cluster over INTERNAL: to topics, leaders, logs and settings.

Each method returns once the controller has confirmed the change and, where this can be queried, every broker shows it.
Each request is used in one version that every Kafka from 3.1 to 4.x supports. Errors are those of
:mod:`harness.brokers.deadline`: retriable ones are retried for 30 s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from kio.schema.alter_client_quotas.v1 import AlterClientQuotasRequest, AlterClientQuotasResponse
from kio.schema.alter_client_quotas.v1.request import EntityData, EntryData, OpData
from kio.schema.alter_partition_reassignments.v0 import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)
from kio.schema.alter_partition_reassignments.v0.request import ReassignablePartition, ReassignableTopic
from kio.schema.create_partitions.v3 import CreatePartitionsRequest, CreatePartitionsResponse
from kio.schema.create_partitions.v3.request import CreatePartitionsAssignment, CreatePartitionsTopic
from kio.schema.delete_records.v2 import DeleteRecordsRequest, DeleteRecordsResponse
from kio.schema.delete_records.v2.request import DeleteRecordsPartition, DeleteRecordsTopic
from kio.schema.delete_topics.v5 import DeleteTopicsRequest, DeleteTopicsResponse
from kio.schema.describe_producers.v0 import DescribeProducersRequest, DescribeProducersResponse
from kio.schema.describe_producers.v0.request import TopicRequest
from kio.schema.elect_leaders.v2 import ElectLeadersRequest, ElectLeadersResponse
from kio.schema.elect_leaders.v2.request import TopicPartitions
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1 import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kio.schema.incremental_alter_configs.v1.request import AlterableConfig, AlterConfigsResource
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import f64, i8, i32, i32Timedelta, i64

from harness.brokers.admin import LATEST, TIMEOUT_S, Admin
from harness.brokers.connection import NotYet, require
from harness.brokers.deadline import insist

HIGH_WATERMARK: Final = -1
_TOPIC, _BROKER = i8(2), i8(4)
_SET, _DELETE = i8(0), i8(1)
_PREFERRED: Final = i8(0)
_WAIT: Final = i32Timedelta.parse(timedelta(seconds=10))


class Alterations:
    """Changes to the cluster of ``admin``."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._moving = asyncio.Lock()

    async def delete_topic(self, topic: str) -> None:
        """Delete a topic, and wait until no broker knows it."""
        request = DeleteTopicsRequest(topic_names=(TopicName(topic),), timeout=_WAIT)

        async def delete() -> None:
            answer = await self._admin.ask(request, DeleteTopicsResponse)
            code = answer.responses[0].error_code
            if (
                code != ErrorCode.unknown_topic_or_partition
            ):  # it is deleted, perhaps by an attempt whose response was lost
                require(code, f"deleting topic {topic!r}")

        async def gone() -> None:
            for node_id in self._admin.node_ids():
                [found] = (await self._admin.metadata(node_id, topic)).topics
                if not found.error_code:
                    raise NotYet(
                        "topic-still-known",
                        "broker {node_id} still knows {topic!r}",
                        node_id=node_id,
                        topic=topic,
                    )

        await insist(f"deleting topic {topic!r}", TIMEOUT_S, delete)
        await insist(f"forgetting topic {topic!r}", TIMEOUT_S, gone)

    async def add_partitions(
        self, topic: str, total: int, replicas: Sequence[Sequence[int]] | None = None
    ) -> None:
        """Increase a topic to ``total`` partitions.

        ``replicas`` lists the nodes of each new partition. None leaves the choice to the controller.
        """
        assignments = tuple(
            CreatePartitionsAssignment(broker_ids=tuple(map(BrokerId, nodes))) for nodes in replicas or ()
        )
        grown = CreatePartitionsTopic(
            name=TopicName(topic), count=i32(total), assignments=assignments or None
        )
        request = CreatePartitionsRequest(topics=(grown,), timeout=_WAIT, validate_only=False)

        async def grow() -> None:
            answer = await self._admin.ask(request, CreatePartitionsResponse)
            require(answer.results[0].error_code, f"growing {topic!r}")

        await insist(f"growing {topic!r}", TIMEOUT_S, grow)
        await insist(f"leading {topic!r}", TIMEOUT_S, lambda: self._admin.all_lead(topic, total))

    async def alter_topic(self, topic: str, name: str, value: str | None) -> None:
        """Set a topic's setting, or reset it to the brokers' default (None)."""
        await self._alter(_TOPIC, topic, name, value)

    async def alter_brokers(self, name: str, value: str | None) -> None:
        """Set a dynamic setting of all brokers, or reset it (None)."""
        await self._alter(_BROKER, "", name, value)

    async def forget_producers(self, topic: str, partition: int) -> None:
        """Wait until the leader of a partition remembers no producer, which requires a short expiration time."""
        asked = TopicRequest(name=TopicName(topic), partition_indexes=(i32(partition),))
        request = DescribeProducersRequest(topics=(asked,))

        async def forgotten() -> None:
            leader = await self._admin.leader(topic, partition)
            answer = await self._admin.ask(request, DescribeProducersResponse, leader)
            [found] = answer.topics[0].partitions
            require(found.error_code, f"asking for the producers of {topic}-{partition}")
            if found.active_producers:
                raise NotYet(
                    "producers-remembered",
                    "the leader of {topic}-{partition} still remembers {count:producer}",
                    topic=topic,
                    partition=partition,
                    count=len(found.active_producers),
                )

        await insist(f"forgetting the producers of {topic}-{partition}", TIMEOUT_S, forgotten)

    async def alter_quota(self, name: str, value: float | None) -> None:
        """Set a quota of the default client id on all brokers, or remove it (None)."""
        quota = OpData(key=name, value=f64(float(value or 0)), remove=value is None)
        everybody = EntityData(entity_type="client-id", entity_name=None)
        request = AlterClientQuotasRequest(
            entries=(EntryData(entity=(everybody,), ops=(quota,)),), validate_only=False
        )

        async def alter() -> None:
            answer = await self._admin.ask(request, AlterClientQuotasResponse)
            require(answer.entries[0].error_code, f"setting the quota {name}")

        await insist(f"setting the quota {name}", TIMEOUT_S, alter)

    async def delete_records(
        self, topic: str, partition: int, before_offset: int = HIGH_WATERMARK
    ) -> int | None:
        """Delete the records before ``before_offset``, at most up to the high watermark, once that is the log's end.

        Returns None, or the error code if the leader rejected the request for good (for example because the offset is
        beyond the end).
        """
        wanted = DeleteRecordsPartition(partition_index=i32(partition), offset=i64(before_offset))
        request = DeleteRecordsRequest(
            topics=(DeleteRecordsTopic(name=TopicName(topic), partitions=(wanted,)),), timeout=_WAIT
        )

        async def replicated() -> None:
            """Raise NotYet unless the high watermark includes the records sent with acks 0 or 1 too."""
            end = await self._admin.log_end(topic, partition)
            if await self._admin.list_offsets(topic, partition, LATEST) < end:
                raise NotYet(
                    "not-replicated",
                    "{topic}-{partition} is not replicated up to offset {end}",
                    topic=topic,
                    partition=partition,
                    end=end,
                )

        async def delete() -> int | None:
            leader = await self._admin.leader(topic, partition)
            answer = await self._admin.ask(request, DeleteRecordsResponse, leader)
            return int(answer.topics[0].partitions[0].error_code) or None

        await insist(f"replicating {topic}-{partition}", TIMEOUT_S, replicated)
        return await insist(f"trimming {topic}-{partition}", TIMEOUT_S, delete)

    async def move_leader(
        self, topic: str, partition: int, node_id: int, alone_with: int | None = None
    ) -> None:
        """Make a replica the preferred one, elect the preferred leader, and wait until it leads.

        With ``alone_with``, no node but that one follows it from then on.
        Moves run one at a time: two concurrent moves of a partition would undo each other's progress.
        """
        async with self._moving:
            await self._move_leader(topic, partition, node_id, alone_with)

    async def _move_leader(self, topic: str, partition: int, node_id: int, alone_with: int | None) -> None:
        replicas = await insist(
            f"finding {topic}-{partition}", TIMEOUT_S, lambda: self._replicas(topic, partition)
        )
        others = [other for other in replicas if other != node_id] if alone_with is None else [alone_with]
        moved = ReassignablePartition(
            partition_index=i32(partition), replicas=tuple(map(BrokerId, (node_id, *others)))
        )
        reassign = AlterPartitionReassignmentsRequest(
            timeout=_WAIT, topics=(ReassignableTopic(name=TopicName(topic), partitions=(moved,)),)
        )
        elected = TopicPartitions(topic=TopicName(topic), partitions=(i32(partition),))
        elect = ElectLeadersRequest(election_type=_PREFERRED, topic_partitions=(elected,), timeout=_WAIT)

        async def prefer() -> None:
            answer = await self._admin.ask(reassign, AlterPartitionReassignmentsResponse)
            require(answer.error_code, what)
            require(answer.responses[0].partitions[0].error_code, what)

        async def leads() -> None:
            answer = await self._admin.ask(elect, ElectLeadersResponse)
            [result] = answer.replica_election_results[0].partition_result or (None,)
            if await self._admin.leader(topic, partition) != node_id:
                said = "" if result is None else f" (the election: {result.error_code.name})"
                raise NotYet(
                    "led-by-another-node",
                    "{topic}-{partition} is led by another node{said}",
                    topic=topic,
                    partition=partition,
                    said=said,
                )
            await self._admin.list_offsets(topic, partition, LATEST)  # only a leader answers this
            if alone_with is not None and set(await self._replicas(topic, partition)) != {
                node_id,
                alone_with,
            }:
                raise NotYet(
                    "replicas-moving", "{topic}-{partition} is moving", topic=topic, partition=partition
                )

        what = f"moving {topic}-{partition}"
        await insist(what, TIMEOUT_S, prefer)
        await insist(what, TIMEOUT_S, leads)

    async def _replicas(self, topic: str, partition: int) -> list[int]:
        [found] = (await self._admin.metadata(None, topic)).topics
        require(found.error_code, f"asking for {topic!r}")
        [part] = [part for part in found.partitions if part.partition_index == partition]
        return list(part.replica_nodes)

    async def _alter(self, kind: i8, resource_name: str, name: str, value: str | None) -> None:
        operation = _DELETE if value is None else _SET
        config = AlterableConfig(name=name, config_operation=operation, value=value)
        resource = AlterConfigsResource(resource_type=kind, resource_name=resource_name, configs=(config,))
        request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)

        async def alter() -> None:
            answer = await self._admin.ask(request, IncrementalAlterConfigsResponse)
            require(answer.responses[0].error_code, f"setting {name} of {resource_name or 'the brokers'}")

        await insist(f"setting {name}", TIMEOUT_S, alter)
