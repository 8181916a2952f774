"""The state of a cluster, which all its brokers share: nodes, topics, settings, and injected errors.

Code that changes the content of Metadata calls :meth:`ClusterState.changed`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol
from uuid import UUID

from kio.schema.errors import ErrorCode

from harness.brokers.scripted.agenda import AT_ONCE, Agenda
from harness.brokers.scripted.answer import NS_PER_MS
from harness.brokers.scripted.fetch_sessions import FetchSessions
from harness.brokers.scripted.groups.coordinator import GroupCoordinator
from harness.brokers.scripted.partition_log import PartitionLog
from harness.brokers.scripted.releases import Release
from harness.brokers.scripted.topic_config import TopicConfig, topic_config
from harness.brokers.scripted.topics import Partition, Topic
from harness.brokers.scripted.transactions.coordinator import TransactionCoordinator
from harness.model.addresses import Address
from harness.model.dice import Dice

PRODUCER_IDS_IN_BLOCK: Final = 1000
_UUID_HALF: Final = 2**64 - 1
_LAST_INT32: Final = 2**31 - 1


@dataclass(slots=True)
class BrokerNode:
    """One broker. ``paused_until_ns`` is None unless it is paused. It takes producer ids from its own block."""

    node_id: int
    address: Address
    is_alive: bool = True
    paused_until_ns: int | None = None
    next_producer_id: int = 0
    producer_ids_left: int = 0
    rack: str | None = None
    fetch_sessions: FetchSessions = field(default_factory=FetchSessions)


@dataclass(slots=True)
class InjectedError:
    """Sets ``code`` in the next ``left`` responses of an API, or of one partition, after ``skip`` others.

    ``by`` identifies the caller that injected it.
    """

    api: int
    code: ErrorCode
    left: int
    partition: int | None
    after_append: bool
    by: Hashable
    skip: int = 0


@dataclass(slots=True)
class Settings:
    """The brokers' own settings under Kafka's names, and broker conditions that clients encounter."""

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
    rack_aware_replica_selector: bool = False
    denied_groups: set[str] = field(default_factory=set)
    group_initial_rebalance_delay_ms: int = 0
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_max_size: int = 2**31 - 1
    # As the local clusters are configured (:mod:`harness.brokers.settings`).
    consumer_group_session_timeout_ms: int = 6_000
    consumer_group_heartbeat_interval_ms: int = 1_000
    consumer_group_max_size: int = 2**31 - 1
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 7 * 86_400_000
    offsets_topic_num_partitions: int = 50
    transaction_state_log_num_partitions: int = 50
    transactional_id_expiration_ms: int = 7 * 86_400_000
    #: The finalized level of the feature ``transaction.version``.
    transaction_version: int = 0
    #: How long a transaction stays prepared before its markers are written.
    transaction_marker_delay_ms: int = 0


class StirredUp(Protocol):
    """A waiting request that a change of the cluster may let go on."""

    def is_satisfied(self) -> bool:
        """Return whether the request need not wait any longer."""

    def finish(self, now_ns: int) -> None:
        """Answer the request."""


class ClusterState:
    """All state of the brokers. ``cached`` are Metadata and ApiVersions responses by the request's bytes."""

    def __init__(
        self, release: Release, addresses: Mapping[int, Address], dice: Dice, wall_ms_at_zero: int
    ) -> None:
        self.release = release
        self.nodes = {node_id: BrokerNode(node_id, address) for node_id, address in sorted(addresses.items())}
        self.settings = Settings(transaction_version=release.transaction_version)
        self.topics: dict[str, Topic] = {}
        self.deleted_topics: list[Topic] = []
        #: Nodes that are kept out of every ISR.
        self.out_of_sync: set[int] = set()
        self.topics_by_id: dict[UUID, Topic] = {}
        self.injected: list[InjectedError] = []
        #: By API and by the caller that set it.
        self.throttles_ms: dict[tuple[int, Hashable], int] = {}
        self.cached: dict[bytes, bytes] = {}
        self.generation = 0
        self.wall_ms_at_zero = wall_ms_at_zero
        self._dice = dice
        self._producer_id_blocks = 0
        self.agenda = Agenda(self._is_paused)
        self.delayed_fetches: list[StirredUp] = []
        self._is_stirred = False
        self.groups = GroupCoordinator(self)
        self.transactions = TransactionCoordinator(self)
        self.cluster_id = f"scripted-{dice.between(0, 2**32 - 1):08x}"

    @property
    def now_ms(self) -> int:
        """The brokers' wall clock at the last event or request."""
        return self.wall_ms_at_zero + self.agenda.now_ns // NS_PER_MS

    def changed(self) -> None:
        """Invalidate cached responses after a change of the cluster."""
        self.generation += 1
        self.cached.clear()
        self.stir()
        self.groups.cluster_changed()
        self.transactions.cluster_changed()

    def stir(self) -> None:
        """Look at the waiting requests again after a change of a log or of the cluster."""
        if self.delayed_fetches and not self._is_stirred:
            self._is_stirred = True
            self.agenda.at(AT_ONCE, self._finish_fetches)

    def _finish_fetches(self, now_ns: int) -> None:
        self._is_stirred = False
        for fetch in tuple(self.delayed_fetches):
            if fetch.is_satisfied():
                fetch.finish(now_ns)

    def _is_paused(self, node_id: int) -> bool:
        return self.nodes[node_id].paused_until_ns is not None

    def new_uuid(self) -> UUID:
        """Return a random id."""
        return UUID(
            int=self._dice.between(1, _UUID_HALF) << 64 | self._dice.between(1, _UUID_HALF), version=4
        )

    def new_session_id(self) -> int:
        """Return the id of a new fetch session."""
        return self._dice.between(1, _LAST_INT32)

    def alive(self) -> list[int]:
        """Return the nodes that are up, paused or not."""
        return [node_id for node_id, node in self.nodes.items() if node.is_alive]

    def partitions(self) -> Iterator[tuple[Topic, Partition]]:
        """Yield every partition of every topic."""
        for topic in self.topics.values():
            for partition in topic.partitions:
                yield topic, partition

    def generate_producer_id(self, node_id: int) -> int:
        """Return the next id of a node's block, or the first of a new block."""
        node = self.nodes[node_id]
        if not node.producer_ids_left:
            node.next_producer_id = self._producer_id_blocks * PRODUCER_IDS_IN_BLOCK
            node.producer_ids_left = PRODUCER_IDS_IN_BLOCK
            self._producer_id_blocks += 1
        node.producer_ids_left -= 1
        node.next_producer_id += 1
        return node.next_producer_id - 1

    def throttle_ms(self, api: int) -> int:
        """Return the throttle time for a response: the earliest of those that are set."""
        return next((ms for (throttled, _), ms in self.throttles_ms.items() if throttled == api), 0)

    def take_error(self, api: int, partitions: frozenset[int] | None = None) -> InjectedError | None:
        """Return the error for a response and use it up. ``partitions`` are the partitions in the response."""
        for error in self.injected:
            if error.api == api and (
                error.partition is None or partitions is None or error.partition in partitions
            ):
                if error.skip:
                    error.skip -= 1
                    continue
                error.left -= 1
                if not error.left:
                    self.injected.remove(error)
                return error
        return None

    def config_of(self, settings: Mapping[str, str]) -> TopicConfig:
        """Return a topic's settings on top of the brokers' defaults, which equal those of the live lanes."""
        brokers = {"min.insync.replicas": str(min(2, len(self.nodes)))}
        return topic_config({**self.release.topic_defaults, **brokers, **settings})

    def add_topic(
        self, name: str, partitions: int, settings: Mapping[str, str], replication_factor: int
    ) -> Topic:
        """Create a topic, with its leaders spread over the nodes."""
        topic_id = self.new_uuid()
        topic = Topic(name, topic_id, dict(settings), self.config_of(settings), [])
        self.topics[name] = self.topics_by_id[topic_id] = topic
        self.grow(topic, partitions, replication_factor)
        return topic

    def grow(self, topic: Topic, partitions: int, replication_factor: int) -> None:
        """Add partitions up to that number. A node that is down gets none of the new replicas."""
        nodes = self.alive() or list(self.nodes)
        for index in range(len(topic.partitions), partitions):
            replicas = [
                nodes[(index + step) % len(nodes)] for step in range(min(replication_factor, len(nodes)))
            ]
            log = PartitionLog(self.settings.producer_id_expiration_ms)
            topic.partitions.append(Partition(index, replicas, log))
        self.changed()
