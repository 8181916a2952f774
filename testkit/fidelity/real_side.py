"""Real brokers as a side: raw frames over a socket, and faults through Kafka's own admin requests.

A fault is complete when every broker has applied it. Metadata is not enough, because a broker shows a change a moment
before it acts on it. After each fault, two marks are therefore set one after the other, each awaited: a broker that
shows the second mark has applied everything before the first.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final
from uuid import UUID

from harness.brokers.admin import EARLIEST, LATEST
from harness.brokers.connection import BrokerConnection, NotYet, require
from harness.brokers.deadline import insist
from harness.brokers.local import LocalCluster
from harness.wire.apis import Api
from harness.wire.messages import make, message_class, nested
from harness.wire.records import read_batches
from testkit.fidelity import steps as s
from testkit.fidelity.real_connections import probe_commit
from testkit.fidelity.real_transactions import FAULT_TIMEOUT_S, PRODUCE_VERSION, TEN_SECONDS, RealTransactions

MARKER: Final = "fidelity.marker"
_TOPIC: Final = 2
_SAFE_DOWNGRADE: Final = 2
_VERSIONS: Final = {
    Api.CREATE_TOPICS: 7,
    Api.DELETE_TOPICS: 5,
    Api.FIND_COORDINATOR: 3,
    Api.DESCRIBE_CONFIGS: 4,
    Api.INIT_PRODUCER_ID: 2,
    Api.OFFSET_COMMIT: 8,
    Api.PRODUCE: PRODUCE_VERSION,
    Api.ADD_PARTITIONS_TO_TXN: 3,
    Api.END_TXN: 3,
    Api.DESCRIBE_TRANSACTIONS: 0,
    Api.UPDATE_FEATURES: 1,
}


class RealSide(RealTransactions):
    """A local cluster. Call :meth:`prepare` first."""

    def __init__(self, cluster: LocalCluster) -> None:
        super().__init__(cluster)
        self._nodes = len(cluster.node_ids)
        self._admin: dict[int, BrokerConnection] = {}
        self._marks = 0
        self._specs: dict[str, s.TopicSpec] = {}

    async def prepare(self) -> None:
        """Create what a cluster creates on first use (the coordinators' topics), and the topic for the marks."""
        await self.create(MARKER, s.TopicSpec(MARKER, 1))
        for kind in (0, 1):
            await insist("finding a coordinator", FAULT_TIMEOUT_S, partial(self._find, "warm", kind))
        for node_id in self.cluster.node_ids:
            await insist("getting a producer id", FAULT_TIMEOUT_S, partial(self._init, node_id))
        await self._settle()

    async def close(self) -> None:
        """Close all connections."""
        await super().close()
        for connection in self._admin.values():
            connection.close()

    def now_ms(self) -> int:
        """Return the machine's wall clock, ms since 1970."""
        return time.time_ns() // 1_000_000

    # Requests that wait

    async def _until_handled(self, node_id: int) -> None:
        """Return once the node has handled every request that was sent to it before, and has sent what it could.

        A node with one thread for requests handles them in their order. It may read two connections in either order,
        but not a second request of one before an earlier request of the other. The coordinator's own answers are sent
        when its log is written, in order, which is why this is a commit.
        """
        for _ in range(2):
            await self._request(Api.OFFSET_COMMIT, node_id, **_PROBE_COMMIT)

    async def set_transaction_version(self, level: int) -> None:
        """Set the level of the feature ``transaction.version``, and wait until every broker knows it."""
        update = nested(message_class(Api.UPDATE_FEATURES, 1, "request"), "FeatureUpdateKey")
        answer = await self._request(
            Api.UPDATE_FEATURES,
            timeout=TEN_SECONDS,
            feature_updates=(
                make(
                    update,
                    feature="transaction.version",
                    max_version_level=level,
                    upgrade_type=_SAFE_DOWNGRADE,
                ),
            ),
            validate_only=False,
        )
        require(answer.error_code, "setting transaction.version")
        require(answer.results[0].error_code, "setting transaction.version")
        await self._settle()

    # Topics and faults

    async def create(self, topic: str, spec: s.TopicSpec) -> None:
        """Create a topic with a replica on every node, led by the nodes in turn. Wait until every broker knows it."""
        self._specs[topic] = spec
        request = message_class(Api.CREATE_TOPICS, 7, "request")
        creatable = make(
            nested(request, "CreatableTopic"),
            name=topic,
            num_partitions=-1,
            replication_factor=-1,
            assignments=tuple(
                make(
                    nested(request, "CreatableReplicaAssignment"),
                    partition_index=index,
                    broker_ids=self._replicas(index),
                )
                for index in range(spec.partitions)
            ),
            configs=tuple(
                make(nested(request, "CreatableTopicConfig"), name=name, value=value)
                for name, value in spec.config.items()
            ),
        )
        answer = await self._request(Api.CREATE_TOPICS, topics=(creatable,))
        require(answer.topics[0].error_code, f"creating {topic} ({answer.topics[0].error_message})")
        await insist(
            f"leading {topic}", FAULT_TIMEOUT_S, lambda: self.cluster.admin.all_lead(topic, spec.partitions)
        )
        # The group coordinator gets to know the topic after the cache of metadata.
        await self._settle()

    async def apply(self, fault: s.Fault, topic: str) -> None:
        """Apply the fault, and wait until every broker knows it."""
        match fault:
            case s.DeleteTopic():
                await self.cluster.alterations.delete_topic(topic)
            case s.RecreateTopic():
                await self.cluster.alterations.delete_topic(topic)
                await self.create(topic, self._specs[topic])
            case s.AddPartitions():
                await self._grow(topic, fault.total)
                self._specs[topic] = replace(self._specs[topic], partitions=fault.total)
            case s.AlterConfig():
                await self.cluster.alterations.alter_topic(topic, fault.name, fault.value)
                spec = self._specs[topic]
                self._specs[topic] = replace(spec, config={**spec.config, fault.name: fault.value})
            case s.Trim():
                await self._trim(topic, fault)
            case s.MoveLeader():
                await self.cluster.alterations.move_leader(topic, fault.partition, fault.node)
            case s.Pause():
                await self.cluster.pause(fault.node)
                return
            case s.Resume():
                await self.cluster.resume(fault.node)
                await self._caught_up()
            case s.Stop():
                await (self.cluster.kill if fault.hard else self.cluster.stop)(fault.node)
                self._drop(fault.node)
                self.cluster.admin.close()
                for connection in self._admin.values():
                    connection.close()
                if not self.cluster.internal_addresses:
                    return
                await insist("missing a node", FAULT_TIMEOUT_S, lambda: self._gone(fault.node))
            case s.Start():
                await self.cluster.restart(fault.node)
                await self._caught_up()
                await insist("getting a producer id", FAULT_TIMEOUT_S, partial(self._init, fault.node))
        await self._settle()

    async def remove(self, topic: str) -> None:
        """Delete a topic if it exists, without waiting for the effect."""
        self._specs.pop(topic, None)
        await self._request(Api.DELETE_TOPICS, topic_names=(topic,), timeout=TEN_SECONDS)

    def _replicas(self, index: int) -> tuple[int, ...]:
        return tuple((index + step) % self._nodes + 1 for step in range(self._nodes))

    async def _trim(self, topic: str, fault: s.Trim) -> None:
        await self.cluster.alterations.delete_records(topic, fault.partition, fault.before_offset)

    async def _grow(self, topic: str, total: int) -> None:
        there = len(await self.cluster.admin.partitions(topic))
        replicas = [self._replicas(index) for index in range(there, total)]
        await self.cluster.alterations.add_partitions(topic, total, replicas)

    # Waiting

    async def _settle(self) -> None:
        for _ in range(2):
            self._marks += 1
            await self.cluster.alterations.alter_topic(MARKER, "retention.ms", str(10**9 + self._marks))
            for node_id in self.cluster.internal_addresses:
                await insist("settling", FAULT_TIMEOUT_S, partial(self._marked, node_id))

    async def _marked(self, node_id: int) -> None:
        request = message_class(Api.DESCRIBE_CONFIGS, 4, "request")
        resource = make(
            nested(request, "DescribeConfigsResource"),
            resource_type=_TOPIC,
            resource_name=MARKER,
            configuration_keys=("retention.ms",),
        )
        answer = await self._request(
            Api.DESCRIBE_CONFIGS,
            node_id,
            resources=(resource,),
            include_synonyms=False,
            include_documentation=False,
        )
        [config] = answer.results[0].configs
        if config.value != str(10**9 + self._marks):
            raise NotYet("mark-not-applied", "broker {node_id} has not applied the mark yet", node_id=node_id)

    async def _gone(self, node: int) -> None:
        """Raise NotYet unless no broker lists the node as a leader or in-sync replica."""
        for node_id in self.cluster.internal_addresses:
            for topic in self._specs:
                [found] = (await self.cluster.admin.metadata(node_id, topic)).topics
                if any(part.leader_id == node or node in part.isr_nodes for part in found.partitions):
                    raise NotYet(
                        "broker-still-listed",
                        "broker {node_id} still lists broker {node}",
                        node_id=node_id,
                        node=node,
                    )

    async def _caught_up(self) -> None:
        """Wait until every running replica of all current topics is in sync on every broker."""

        async def caught_up() -> None:
            up = set(self.cluster.internal_addresses)
            for topic in self._specs:
                [found] = (await self.cluster.admin.metadata(min(up), topic)).topics
                for partition in found.partitions:
                    if not up <= set(partition.isr_nodes):
                        raise NotYet(
                            "not-caught-up",
                            "{topic}-{partition} is not caught up",
                            topic=topic,
                            partition=partition.partition_index,
                        )
                    await self.cluster.admin.list_offsets(topic, partition.partition_index, LATEST)

        await insist("catching up", FAULT_TIMEOUT_S, caught_up)

    # State

    async def leader(self, topic: str, partition: int) -> int:
        """Return the leader's node, or -1 if there is no leader or no such partition."""
        answer = await self.cluster.admin.metadata(await self.any_node(), topic)
        found = [part for part in answer.topics[0].partitions if part.partition_index == partition]
        return int(found[0].leader_id) if found and not found[0].error_code else -1

    async def topic_id(self, topic: str) -> UUID:
        """Return the id of an existing topic."""
        found = (await self.cluster.admin.metadata(await self.any_node(), topic)).topics[0].topic_id
        assert found is not None
        return found

    async def coordinator(self, key: str, key_type: int) -> int:
        """Return the node that coordinates a group or a transactional id."""
        return await insist("finding a coordinator", FAULT_TIMEOUT_S, lambda: self._find(key, key_type))

    async def any_node(self) -> int:
        """Return the first node that is up."""
        return min(self.cluster.internal_addresses)

    async def log(self, topic: str, partition: int) -> tuple[int, bytes]:
        """Return (log start offset, the stored batches from there on)."""
        admin = self.cluster.admin
        start = offset = await admin.list_offsets(topic, partition, EARLIEST)
        pieces: list[bytes] = []

        async def piece() -> bool:
            nonlocal offset
            if offset == await admin.log_end(topic, partition):
                return False
            data = bytes((await admin.fetch(topic, partition, offset)).records or b"")
            batches = list(read_batches(data))
            if not batches:
                raise NotYet("not-replicated", "the last records are not replicated yet")
            pieces.append(data[: sum(batch.header.size_bytes for batch in batches)])
            offset = batches[-1].header.last_offset + 1
            return True

        while await insist(f"reading {topic}-{partition}", FAULT_TIMEOUT_S, piece):
            pass
        return start, b"".join(pieces)

    async def _find(self, key: str, key_type: int) -> int:
        answer = await self._request(Api.FIND_COORDINATOR, key=key, key_type=key_type)
        require(answer.error_code, "finding a coordinator")
        return int(answer.node_id)

    async def _init(self, node_id: int) -> None:
        """Make the node fetch its first block of producer ids."""
        answer = await self._request(
            Api.INIT_PRODUCER_ID, node_id, transactional_id=None, transaction_timeout=TEN_SECONDS
        )
        require(answer.error_code, "getting a producer id")

    async def _request(self, api: Api, node_id: int | None = None, **values: Any) -> Any:
        version = _VERSIONS[api]
        where = await self.any_node() if node_id is None else node_id
        address = self.cluster.internal_addresses[where]
        connection = self._admin.setdefault(
            where, BrokerConnection(address, credentials=self.cluster.credentials)
        )
        message = make(message_class(api, version, "request"), **values)
        return await connection.request(message, message_class(api, version, "response"))


def addresses(cluster: LocalCluster) -> Mapping[int, tuple[str, int]]:
    """Return the advertised addresses of the listener on which the plans are played."""
    return dict(cluster.internal_addresses)


_PROBE_COMMIT: Final = probe_commit(_VERSIONS[Api.OFFSET_COMMIT], MARKER)
