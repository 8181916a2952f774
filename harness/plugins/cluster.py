"""The interfaces of a running cluster and of a kind of cluster.

All async methods run on the one event loop of a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from harness.limits.meter import Meter
from harness.model.addresses import LaneAddress
from harness.model.rows import LogRecord


class Alterations(Protocol):
    """Changes to a cluster's topics, leaders and settings.

    Each method returns when the change is visible, and raises KafkaTrialError if it never is.
    """

    async def delete_topic(self, topic: str) -> None: ...
    async def add_partitions(
        self, topic: str, total: int, replicas: Sequence[Sequence[int]] | None = None
    ) -> None: ...
    async def alter_topic(self, topic: str, name: str, value: str | None) -> None: ...
    async def alter_brokers(self, name: str, value: str | None) -> None: ...
    async def forget_producers(self, topic: str, partition: int) -> None: ...
    async def alter_quota(self, name: str, value: float | None) -> None: ...
    async def delete_records(self, topic: str, partition: int) -> int | None:
        """Delete the records below the high watermark. Return the error code if the leader refused it permanently."""

    async def move_leader(self, topic: str, partition: int, node_id: int) -> None: ...


class Cluster(Protocol):
    """A running cluster. ``internal`` is a listener that no fault affects; only the harness uses it."""

    @property
    def version(self) -> str: ...
    @property
    def node_ids(self) -> tuple[int, ...]: ...
    @property
    def addresses(self) -> tuple[LaneAddress, ...]: ...
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

    async def create_topic(
        self, topic: str, partitions: int, config: Mapping[str, str] | None = None
    ) -> None: ...
    async def read_log(self, topic: str, meter: Meter | None = None) -> list[LogRecord]:
        """Return every record of every partition, including control records, with read_uncommitted isolation.

        Raises OverLimit if the log holds more than ``meter`` allows.
        """

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

    async def stop(self, node_id: int) -> None: ...
    async def kill(self, node_id: int) -> None: ...
    async def restart(self, node_id: int) -> None: ...
    async def pause(self, node_id: int) -> None: ...
    async def resume(self, node_id: int) -> None: ...


class BrokerKind(Protocol):
    """Entry-point group ``kafka_trial.brokers``: a way to provide a cluster, selected as ``name:id``."""

    name: str
    summary: str
    examples: tuple[str, ...]

    def validate(self, broker_id: str) -> None:
        """Raise UsageError for an id that this kind cannot provide, before anything is started."""

    def cluster(self, broker_id: str, lanes: int, log_dir: Path) -> AbstractAsyncContextManager[Cluster]:
        """Start a cluster with ``lanes`` lanes and broker logs in ``log_dir``; stop all of it on exit."""
