"""The state of a cluster, which all its brokers share: nodes, topics, settings, and what has been asked of them.

Whatever changes what Metadata says calls :meth:`ClusterState.changed`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.partition_log import PartitionLog
from harness.brokers.scripted.releases import Release
from harness.brokers.scripted.topic_config import TopicConfig, topic_config
from harness.brokers.scripted.topics import Partition, Topic
from harness.model.addresses import Address
from harness.model.dice import Dice

PRODUCER_IDS_IN_BLOCK: Final = 1000
_UUID_HALF: Final = 2**64 - 1


@dataclass(slots=True)
class BrokerNode:
    """One broker. ``paused_until_ns`` None: not paused. Its producer ids come from a block that no other node has."""

    node_id: int
    address: Address
    is_alive: bool = True
    paused_until_ns: int | None = None
    next_producer_id: int = 0
    producer_ids_left: int = 0


@dataclass(slots=True)
class InjectedError:
    """The next ``left`` answers of an API, or of one partition of Produce and Metadata, say ``code``.

    ``by`` names who wants it.
    """

    api: int
    code: ErrorCode
    left: int
    partition: int | None
    after_append: bool
    by: Hashable


@dataclass(slots=True)
class TransactionalProducer:
    """What the transaction coordinator keeps of a transactional id between transactions."""

    producer_id: int
    producer_epoch: int
    last_producer_id: int
    last_producer_epoch: int


@dataclass(slots=True)
class Settings:
    """The brokers' own settings, under Kafka's names, and states of theirs that clients meet."""

    auto_create_topics_enable: bool = False
    num_partitions: int = 1
    transaction_max_timeout_ms: int = 900_000
    producer_id_expiration_ms: int = 86_400_000
    coordinator_load_in_progress: bool = False
    coordinator_available: bool = True
    coordinators_moved: int = 0
    denied_topics: set[str] = field(default_factory=set)
    denied_transactional_ids: set[str] = field(default_factory=set)
    cluster_denied: bool = False


class ClusterState:
    """Everything that the brokers know. ``cached`` are Metadata and ApiVersions answers, by the request's bytes."""

    def __init__(
        self, release: Release, addresses: Mapping[int, Address], dice: Dice, wall_ms_at_zero: int
    ) -> None:
        self.release = release
        self.nodes = {node_id: BrokerNode(node_id, address) for node_id, address in sorted(addresses.items())}
        self.settings = Settings()
        self.topics: dict[str, Topic] = {}
        self.deleted_topics: list[Topic] = []
        #: Nodes that are kept out of every ISR.
        self.out_of_sync: set[int] = set()
        self.topics_by_id: dict[UUID, Topic] = {}
        self.transactions: dict[str, TransactionalProducer] = {}
        self.injected: list[InjectedError] = []
        #: By API and by the name of who wants it.
        self.throttles_ms: dict[tuple[int, Hashable], int] = {}
        self.cached: dict[bytes, bytes] = {}
        self.generation = 0
        self.wall_ms_at_zero = wall_ms_at_zero
        self._dice = dice
        self._producer_id_blocks = 0
        self.cluster_id = f"scripted-{dice.between(0, 2**32 - 1):08x}"

    def changed(self) -> None:
        """What the brokers say of the cluster is not what it was."""
        self.generation += 1
        self.cached.clear()

    def alive(self) -> list[int]:
        """The nodes that are up, paused or not."""
        return [node_id for node_id, node in self.nodes.items() if node.is_alive]

    def partitions(self) -> Iterator[tuple[Topic, Partition]]:
        """Every partition of every topic."""
        for topic in self.topics.values():
            for partition in topic.partitions:
                yield topic, partition

    def generate_producer_id(self, node_id: int) -> int:
        """The next id of a node's block, or the first of a new block."""
        node = self.nodes[node_id]
        if not node.producer_ids_left:
            node.next_producer_id = self._producer_id_blocks * PRODUCER_IDS_IN_BLOCK
            node.producer_ids_left = PRODUCER_IDS_IN_BLOCK
            self._producer_id_blocks += 1
        node.producer_ids_left -= 1
        node.next_producer_id += 1
        return node.next_producer_id - 1

    def throttle_ms(self, api: int) -> int:
        """The throttle time that an answer is to say: of those that are wanted the first."""
        return next((ms for (throttled, _), ms in self.throttles_ms.items() if throttled == api), 0)

    def take_error(self, api: int, partitions: frozenset[int] | None = None) -> InjectedError | None:
        """The error that an answer is to give, used up by this; ``partitions`` are those it speaks about."""
        for error in self.injected:
            if error.api == api and (
                error.partition is None or partitions is None or error.partition in partitions
            ):
                error.left -= 1
                if not error.left:
                    self.injected.remove(error)
                return error
        return None

    def config_of(self, settings: Mapping[str, str]) -> TopicConfig:
        """A topic's settings on top of the brokers', which are those of the live lanes."""
        brokers = {"min.insync.replicas": str(min(2, len(self.nodes)))}
        return topic_config({**self.release.topic_defaults, **brokers, **settings})

    def add_topic(
        self, name: str, partitions: int, settings: Mapping[str, str], replication_factor: int
    ) -> Topic:
        """A new topic, its leaders spread over the nodes."""
        topic_id = UUID(
            int=self._dice.between(1, _UUID_HALF) << 64 | self._dice.between(1, _UUID_HALF), version=4
        )
        topic = Topic(name, topic_id, dict(settings), self.config_of(settings), [])
        self.topics[name] = self.topics_by_id[topic_id] = topic
        self.grow(topic, partitions, replication_factor)
        return topic

    def grow(self, topic: Topic, partitions: int, replication_factor: int) -> None:
        """Partitions up to that number. A node that is down holds none of the new ones."""
        nodes = self.alive() or list(self.nodes)
        for index in range(len(topic.partitions), partitions):
            replicas = [
                nodes[(index + step) % len(nodes)] for step in range(min(replication_factor, len(nodes)))
            ]
            log = PartitionLog(self.settings.producer_id_expiration_ms)
            topic.partitions.append(Partition(index, replicas, log))
        self.changed()
