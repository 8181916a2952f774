"""Restore a cluster to its new state after a trial, or give it up.

Topics are deleted. Everything else must already have been undone, and every broker is asked for it: the members, the
controller and whether all voters follow it, the topics, each broker's own configuration compared with the one at the
start, and client quotas. A difference is a reason to start another cluster. It is never repaired, since that would hide
what the trial left behind.

State that no broker can be asked for is declared by the fault kinds (``FaultKind.lingers_s``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from kio.schema.describe_client_quotas.v1 import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from kio.schema.describe_configs.v4 import DescribeConfigsRequest, DescribeConfigsResponse
from kio.schema.describe_configs.v4.request import DescribeConfigsResource
from kio.schema.describe_quorum.v0 import DescribeQuorumRequest, DescribeQuorumResponse
from kio.schema.describe_quorum.v0.request import PartitionData, TopicData
from kio.schema.describe_quorum.v0.response import PartitionData as Quorum
from kio.schema.metadata.v12 import MetadataRequest, MetadataResponse
from kio.schema.types import TopicName
from kio.static.primitive import i8, i32

from harness.brokers.admin import Admin
from harness.brokers.alterations import Alterations
from harness.brokers.connection import NotYet, require
from harness.brokers.deadline import insist
from harness.model.errors import KafkaTrialError

TIMEOUT_S: Final = 20.0
#: An undone change reaches all brokers within a second, so this leaves a wide margin.
AS_NEW_S: Final = 10.0

Config = Mapping[str, tuple[str | None, int]]
"""A broker's settings: name -> value and source (4: server.properties, 5: default; 2, 3: set at runtime)."""

_BROKER: Final = i8(4)
_INTERNAL: Final = "__"
_METADATA_LOG: Final = DescribeQuorumRequest(
    topics=(
        TopicData(
            topic_name=TopicName("__cluster_metadata"), partitions=(PartitionData(partition_index=i32(0)),)
        ),
    )
)
_ALL_TOPICS: Final = MetadataRequest(
    topics=None, allow_auto_topic_creation=False, include_topic_authorized_operations=False
)
_ALL_QUOTAS: Final = DescribeClientQuotasRequest(components=(), strict=False)


class Renewal:
    """Restores the brokers ``node_ids`` to the configuration recorded by :meth:`remember`.

    ``ready`` waits until every listener of every node responds, and raises KafkaTrialError otherwise.
    """

    def __init__(
        self,
        admin: Admin,
        alterations: Alterations,
        node_ids: tuple[int, ...],
        ready: Callable[[], Awaitable[None]],
    ) -> None:
        self._admin, self._alterations, self._node_ids = admin, alterations, node_ids
        self._ready = ready
        self._new: Mapping[int, Config] = {}

    async def remember(self) -> None:
        """Record each broker's configuration while the cluster is new."""
        self._new = await insist("describing the brokers", TIMEOUT_S, self._configs)

    async def renew(self, as_new_s: float = AS_NEW_S) -> str | None:
        """Delete all topics. Return None once every broker is as new, or what still differs after ``as_new_s``."""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await self._ready()
                await self._delete_topics()
                quorum = await insist("asking for the quorum", TIMEOUT_S, self._quorum)
            await insist("being as new", as_new_s, lambda: self._assert_as_new(quorum.high_watermark))
        except TimeoutError:
            return f"its topics were not deleted within {TIMEOUT_S:g} s"
        except KafkaTrialError as error:
            return str(error)
        return None

    async def _delete_topics(self) -> None:
        topics = await insist("listing topics", TIMEOUT_S, lambda: self._topics(self._node_ids[0]))
        for topic in topics:
            if topic.startswith(_INTERNAL):
                raise KafkaTrialError(
                    "internal-topic-left",
                    "it has {topic!r}, whose coordinators keep state of earlier clients",
                    topic=topic,
                )
        for topic in topics:
            await self._alterations.delete_topic(topic)

    async def _assert_as_new(self, offset: int) -> None:
        """Raise NotYet for any difference. ``offset`` is the metadata log offset that all voters must have reached."""
        leaders = set()
        for node_id in self._node_ids:
            await self._assert_members(node_id)
            quorum = await self._quorum(node_id)
            leaders.add((quorum.leader_id, quorum.leader_epoch))
            _assert_follow(quorum, self._node_ids, offset)
            await self._assert_no_quotas(node_id)
        if len(leaders) > 1:
            raise NotYet("controller-disputed", "the brokers do not agree on the controller")
        _assert_same(self._new, await self._configs())

    async def _assert_members(self, node_id: int) -> None:
        answer = await self._admin.ask(_ALL_TOPICS, MetadataResponse, node_id)
        if {int(broker.node_id) for broker in answer.brokers} != set(self._node_ids):
            raise NotYet("brokers-not-named", "broker {node_id} does not name all brokers", node_id=node_id)
        if answer.topics:
            raise NotYet(
                "topic-still-known",
                "broker {node_id} knows {topic!r}",
                node_id=node_id,
                topic=answer.topics[0].name,
            )

    async def _assert_no_quotas(self, node_id: int) -> None:
        answer = await self._admin.ask(_ALL_QUOTAS, DescribeClientQuotasResponse, node_id)
        require(answer.error_code, f"asking broker {node_id} for quotas")
        if answer.entries:
            raise NotYet(
                "quota-left",
                "broker {node_id} has a quota {quota}",
                node_id=node_id,
                quota=answer.entries[0].values[0].key,
            )

    async def _topics(self, node_id: int) -> list[str]:
        answer = await self._admin.ask(_ALL_TOPICS, MetadataResponse, node_id)
        return sorted(str(topic.name) for topic in answer.topics)

    async def _quorum(self, node_id: int | None = None) -> Quorum:
        answer = await self._admin.ask(_METADATA_LOG, DescribeQuorumResponse, node_id)
        require(answer.error_code, "asking for the quorum")
        [found] = answer.topics[0].partitions
        require(found.error_code, "asking for the quorum")
        return found

    async def _configs(self) -> Mapping[int, Config]:
        return {node_id: await self._config(node_id) for node_id in self._node_ids}

    async def _config(self, node_id: int) -> Config:
        asked = DescribeConfigsResource(
            resource_type=_BROKER, resource_name=str(node_id), configuration_keys=None
        )
        answer = await self._admin.ask(
            DescribeConfigsRequest(resources=(asked,)), DescribeConfigsResponse, node_id
        )
        [result] = answer.results
        require(result.error_code, f"describing broker {node_id}")
        return {each.name: (each.value, each.config_source) for each in result.configs}


def _assert_follow(quorum: Quorum, node_ids: tuple[int, ...], offset: int) -> None:
    """Raise NotYet unless the voters are the nodes, one of them leads, and all have the log up to ``offset``."""
    ends = {int(voter.replica_id): voter.log_end_offset for voter in quorum.current_voters}
    if set(ends) != set(node_ids) or quorum.leader_id not in ends:
        raise NotYet(
            "controllers-differ",
            "the controllers are {ends}, led by {leader_id}",
            ends=sorted(ends),
            leader_id=quorum.leader_id,
        )
    if behind := sorted(node_id for node_id, end in ends.items() if end < offset):
        raise NotYet("controller-behind", "controller {node_id} is behind", node_id=behind[0])


def _assert_same(new: Mapping[int, Config], now: Mapping[int, Config]) -> None:
    """Raise NotYet with one setting's name unless each broker is configured as before."""
    for node_id, config in now.items():
        for name in sorted(config.keys() | new[node_id].keys()):
            if (found := config.get(name)) != (was := new[node_id].get(name)):
                raise NotYet(
                    "config-left",
                    "{name} of broker {node_id} is {found}, and was {was}",
                    name=name,
                    node_id=node_id,
                    found=found,
                    was=was,
                )
