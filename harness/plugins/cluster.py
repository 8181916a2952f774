"""What the harness needs of a cluster, and of a kind of cluster.

Everything async runs on the one event loop of a run.
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

    Each method returns once the change shows; KafkaTrialError if it never does.
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
        """Delete what is below the high watermark; the error code where the leader refused it for good."""

    async def move_leader(self, topic: str, partition: int, node_id: int) -> None: ...


class Cluster(Protocol):
    """A running cluster. ``internal`` is a listener that no fault touches; the harness alone uses it."""

    @property
    def version(self) -> str: ...
    @property
    def node_ids(self) -> tuple[int, ...]: ...
    @property
    def addresses(self) -> tuple[LaneAddress, ...]: ...
    def died(self) -> str | None:
        """Why the cluster cannot be trusted any more: a node that ended by itself, with the end of its log."""

    @property
    def up(self) -> tuple[int, ...]:
        """The nodes that run; one that is paused does not."""

    @property
    def alterations(self) -> Alterations:
        """Changes to topics, leaders and settings, over ``internal``."""

    async def create_topic(
        self, topic: str, partitions: int, config: Mapping[str, str] | None = None
    ) -> None: ...
    async def read_log(self, topic: str, meter: Meter | None = None) -> list[LogRecord]:
        """Every record of every partition up to its end, control records included, read_uncommitted.

        OverLimit: it holds more than ``meter`` allows.
        """

    async def partitions(self, topic: str) -> list[int]:
        """The partitions of a topic, none where there is no such topic."""

    async def leader(self, topic: str, partition: int) -> int:
        """Which node leads a partition."""

    async def in_sync(self, topic: str) -> None:
        """Return once every broker that is up says that all replicas of the topic are in sync."""

    def came_to(self, lane: int) -> list[tuple[int, int]]:
        """(Node id, port it came from) of each connection to a lane's listeners since the last call, ours left out."""

    async def renew(self) -> str | None:
        """Delete all topics; None if the cluster is then as good as a new one, else why it is not."""

    async def stop(self, node_id: int) -> None: ...
    async def kill(self, node_id: int) -> None: ...
    async def restart(self, node_id: int) -> None: ...
    async def pause(self, node_id: int) -> None: ...
    async def resume(self, node_id: int) -> None: ...


class BrokerKind(Protocol):
    """Entry-point group ``kafka_trial.brokers``: a way to have a cluster, selected as ``name:id``."""

    name: str
    summary: str
    examples: tuple[str, ...]

    def validate(self, broker_id: str) -> None:
        """Raise UsageError for an id that this kind cannot give, before anything is started."""

    def cluster(self, broker_id: str, lanes: int, log_dir: Path) -> AbstractAsyncContextManager[Cluster]:
        """Start a cluster with ``lanes`` lanes, keep broker logs in ``log_dir``, stop it whole at exit."""
