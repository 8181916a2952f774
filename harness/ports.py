"""The ports: what the harness needs of brokers, proxies, faults and clients, without knowing any of them.

Built-in and third-party implementations are found by entry point (:mod:`harness.registry`). Everything async
runs on the one event loop of a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from harness.rows import FaultRow, Frame, LogRecord
from harness.scenario import Consequence
from harness.spec import ClientRef, FaultSpec

if TYPE_CHECKING:
    from harness.brokers.alterations import Alterations
    from harness.conversation.limits import Meter
    from harness.evidence import Evidence
    from harness.lane import LiveLane

Address = tuple[str, int]


@dataclass(frozen=True)
class LaneAddress:
    """The three addresses of one lane on one broker, from the client inwards.

    Clients are told ``advertised`` (a proxy listens there), the proxy leads to ``witness``, the witness to
    ``listener`` (the broker listens there).
    """

    lane: int
    broker: int
    advertised: Address
    witness: Address
    listener: Address


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


class Proxy(Protocol):
    """One proxy of one lane on one broker, under our control. Every call raises on any error of the server."""

    @property
    def address(self) -> LaneAddress: ...
    async def add_toxic(
        self, name: str, kind: str, stream: str, toxicity: float, **attributes: int
    ) -> None: ...
    async def update_toxic(self, name: str, toxicity: float | None = None, **attributes: int) -> None: ...
    async def remove_toxic(self, name: str) -> None: ...
    async def enable(self) -> None: ...
    async def disable(self) -> None: ...
    async def pristine(self) -> bool:
        """True if the proxy is enabled and carries no toxic."""

    async def differs(self) -> str | None:
        """What is not as this harness has set it; None: all is."""


class ProxyServer(Protocol):
    """The proxies of a run."""

    async def create(self, address: LaneAddress) -> Proxy: ...
    async def alive(self) -> bool: ...
    async def strangers(self) -> list[str]:
        """What others have asked of the server since the last call, as far as it tells."""


class ProxyKind(Protocol):
    """Entry-point group ``kafka_trial.proxies``: where proxies come from."""

    name: str

    def server(self, log_dir: Path) -> AbstractAsyncContextManager[ProxyServer]: ...


@dataclass(frozen=True)
class FaultParam:
    """A parameter of a fault kind: whole number, named with its unit, with its bounds."""

    name: str
    default: int
    low: int
    high: int
    what: str


class FaultKind(Protocol):
    """Entry-point group ``kafka_trial.faults``: one kind of fault; its module docstring is its published page."""

    name: str
    summary: str
    worlds: frozenset[str]
    params: tuple[FaultParam, ...]
    alone: bool
    lingers_s: float
    """How long after its end brokers may remember it where nobody can ask them; of kinds that are ``alone``."""
    starts_nodes: bool
    """True if it ends nodes and starts them again, which takes the machine's cores."""

    def check(self, spec: FaultSpec, world: str) -> None:
        """Raise UsageError, in one sentence, for parameters that cannot be had in ``world`` ("live", "simulated")."""

    async def prepare(self, spec: FaultSpec, lane: LiveLane) -> None:
        """What must be in place before the client connects; usually nothing."""

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None: ...
    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Undo ``start``; must also work after a ``start`` that failed half-way."""

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """How many frames or connections of the lane the fault really touched, from the witness's rows. Pure."""

    def effect(self, row: FaultRow, evidence: Evidence) -> Consequence:
        """How often the trial shows that the fault bit, and what was counted. Pure.

        Never what would be there without the fault: put into a calm trial, its row gives 0. A kind may leave it out;
        then :func:`touched` stands in, and the verdict says so.
        """


def touched(row: FaultRow) -> Consequence:
    """What stands in for the effect of a kind that cannot tell it: what was in its way, whatever became of that."""
    return Consequence(row.hits, "frames or connections were in its way; this kind tells no effect")


@dataclass(frozen=True)
class Launch:
    """How to start an adapter: its command line, and environment on top of the harness's own."""

    argv: tuple[str, ...]
    env: Mapping[str, str]


class ClientKind(Protocol):
    """Entry-point group ``kafka_trial.clients``: a client that can be put on trial at some version.

    ``versions`` are those that were tried, oldest first, ``default_version`` among them; others may do as well.
    """

    name: str
    summary: str
    language: str
    default_version: str
    versions: tuple[str, ...]

    def install(self, version: str) -> Launch:
        """Make that version runnable (once, cached, safe beside others) and say how. Blocking.

        Raises UsageError for a version that does not exist, EnvironmentProblem for a missing tool chain.
        """

    def published(self) -> list[str]:
        """Every version that its registry lists, oldest first. Blocking; EnvironmentProblem if it cannot be asked."""


@dataclass(frozen=True)
class InstalledClient:
    """A client that is ready to run."""

    ref: ClientRef
    launch: Launch
