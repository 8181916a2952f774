"""The interfaces of a running cluster and of a kind of cluster.

All async methods run on the one event loop of a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.limits.meter import Meter
from harness.model.addresses import LaneAddress
from harness.model.consumer_contract import Position
from harness.model.rows import LogRecord


@dataclass(frozen=True)
class Needs:
    """What one thing needs of the machine while it exists: ``cores`` busy on average, and its own memory."""

    cores: float
    memory_bytes: int


@dataclass(frozen=True)
class ClusterNeeds(Needs):
    """An idle cluster of ``nodes`` processes. To start, each of them also needs ``start_core_s`` core-seconds."""

    nodes: int
    start_core_s: float


class Alterations(Protocol):
    """Changes to a cluster's topics, leaders and settings.

    Each method returns when the change is visible, and raises KafkaTrialError if it never is.
    """

    async def delete_topic(self, topic: str) -> None:
        """Delete a topic."""

    async def add_partitions(
        self, topic: str, total: int, replicas: Sequence[Sequence[int]] | None = None
    ) -> None:
        """Increase a topic to ``total`` partitions. ``replicas`` lists the node ids of each new one; None: any."""

    async def alter_topic(self, topic: str, name: str, value: str | None) -> None:
        """Set a setting of a topic. None resets it to the brokers' default."""

    async def alter_brokers(self, name: str, value: str | None) -> None:
        """Set a dynamic setting of all brokers. None resets it."""

    async def forget_producers(self, topic: str, partition: int) -> None:
        """Wait until the leader of a partition remembers no producer."""

    async def alter_quota(self, name: str, value: float | None) -> None:
        """Set a quota of the default client id on all brokers. None removes it."""

    async def delete_records(self, topic: str, partition: int) -> int | None:
        """Delete the records below the high watermark. Return the error code if the leader refused it permanently."""

    async def move_leader(
        self, topic: str, partition: int, node_id: int, alone_with: int | None = None
    ) -> None:
        """Make a node the leader of a partition; with ``alone_with``, that one is its only follower."""


class Store(Protocol):
    """Where the harness writes batches. ``name`` is a transactional id; empty means none."""

    async def append(self, topic: str, partition: int, batch: bytes, name: str = "") -> int:
        """Append one record batch, and return its base offset."""

    async def producer(self, name: str) -> tuple[int, int]:
        """Return the producer id and epoch of a transactional id."""

    async def join(self, name: str, producer: tuple[int, int], topic: str, partitions: list[int]) -> None:
        """Add partitions to the transaction of a producer."""

    async def end(
        self, name: str, producer: tuple[int, int], commits: bool, topic: str, partitions: list[int]
    ) -> None:
        """End the transaction of a producer, which has these partitions. The markers may follow later."""


class Contents(Store, Protocol):
    """What the harness writes to topics of real brokers for clients to read, and what groups have committed."""

    async def stable(self, topic: str, partition: int) -> None:
        """Wait until no transaction in a partition is open."""

    async def committed(self, group: str) -> list[Position]:
        """Return the offsets that a group has committed; none if there is no such group."""


class Cluster(Protocol):
    """A running cluster. ``internal`` is a listener that no fault affects; only the harness uses it."""

    @property
    def version(self) -> str:
        """The version of Kafka, such as ``4.3.1``."""

    @property
    def node_ids(self) -> tuple[int, ...]:
        """The ids of all nodes, whether they are running or not."""

    @property
    def addresses(self) -> tuple[LaneAddress, ...]:
        """The addresses of every lane on every broker."""

    def died(self) -> str | None:
        """Return why the cluster is no longer reliable, or None.

        The reason is a node that ended unexpectedly, with the last lines of its log.
        """

    @property
    def up(self) -> tuple[int, ...]:
        """The nodes that are running. A paused node is not."""

    @property
    def alterations(self) -> Alterations:
        """Changes to topics, leaders and settings, over ``internal``."""

    @property
    def contents(self) -> Contents:
        """Records and committed offsets, over ``internal``."""

    async def create_topic(
        self, topic: str, partitions: int, config: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic with a replica on every node, and wait until every broker knows its leaders."""

    async def read_log(self, topic: str, meter: Meter | None = None) -> list[LogRecord]:
        """Return every record of every partition, including control records, with read_uncommitted isolation.

        Raises OverLimit if the log holds more than ``meter`` allows.
        """

    async def is_stable(self, topic: str) -> bool:
        """Return whether no transaction of the topic is open: each partition is stable up to its high watermark."""

    async def partitions(self, topic: str) -> list[int]:
        """Return the partitions of a topic; empty if the topic does not exist."""

    async def leader(self, topic: str, partition: int) -> int:
        """Return the node that leads a partition."""

    async def in_sync(self, topic: str) -> None:
        """Block until every running broker reports that all replicas of the topic are in sync."""

    def came_to(self, lane: int) -> list[tuple[int, int]]:
        """Return (node id, source port) of each connection accepted on a lane's listeners since the last call.

        The harness's own connections are left out.
        """

    async def renew(self) -> str | None:
        """Delete all topics. Return None if the cluster is then as good as a new one, else the reason why not."""

    async def stop(self, node_id: int) -> None:
        """Stop a node in an orderly way. Its data is kept."""

    async def kill(self, node_id: int) -> None:
        """End a node by SIGKILL. Its data is kept."""

    async def restart(self, node_id: int) -> None:
        """Start a node on its data, and wait until all running nodes are ready."""

    async def pause(self, node_id: int) -> None:
        """Freeze a node: its connections stay open, but it does not respond."""

    async def resume(self, node_id: int) -> None:
        """Resume a frozen node."""


class BrokerKind(Protocol):
    """Entry-point group ``kafka_trial.brokers``: a way to provide a cluster, selected as ``name:id``."""

    name: str
    summary: str
    examples: tuple[str, ...]

    def validate(self, broker_id: str) -> None:
        """Raise UsageError for an id that this kind cannot provide, before anything is started."""

    def needs(self, broker_id: str) -> ClusterNeeds:
        """Return what such a cluster needs of the machine.

        A kind may omit this method; its clusters are then taken for one JVM.
        """

    def cluster(self, broker_id: str, lanes: int, log_dir: Path) -> AbstractAsyncContextManager[Cluster]:
        """Start a cluster with ``lanes`` lanes and broker logs in ``log_dir``; stop all of it on exit."""
