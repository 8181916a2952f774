"""The interface of a fault kind, and everything that a fault can control in a live trial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from harness.model.errors import EnvironmentProblem
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame
from harness.model.spec import FaultSpec, FrameMatch
from harness.plugins.cluster import Cluster
from harness.plugins.proxy import Proxy
from harness.plugins.scenario import Consequence


class Witness(Protocol):
    """The part of the witness that a fault uses (:class:`harness.witness.lane.WitnessLane`)."""

    def watch(self, callback: Callable[[Frame], None]) -> None: ...
    def unwatch(self, callback: Callable[[Frame], None]) -> None: ...
    def arm(self, name: str, match: FrameMatch, action: Any, brokers: tuple[int, ...] = ()) -> None: ...
    def disarm(self, name: str) -> None: ...


@dataclass(frozen=True)
class LiveLane:
    """Everything a live fault can control: the proxies, the witness, the brokers, the topic."""

    proxies: tuple[Proxy, ...]
    witness: Witness
    cluster: Cluster
    topic: str
    partitions: int = 1

    async def assert_as_set(self) -> None:
        """Raise EnvironmentProblem if a proxy is not in the state that the faults have set."""
        for proxy in self.proxies:
            if (what := await proxy.differs()) is not None:
                raise EnvironmentProblem(
                    "proxy-changed-by-others",
                    "somebody else changed the proxy of broker {broker} while a fault was on it: {what}",
                    broker=proxy.address.broker,
                    what=what,
                )

    def on(self, spec: FaultSpec) -> list[Proxy]:
        """Return the proxies that a fault applies to: those of the brokers that it names, or all."""
        return [proxy for proxy in self.proxies if not spec.brokers or proxy.address.broker in spec.brokers]


@dataclass(frozen=True)
class FaultParam:
    """A parameter of a fault kind: a whole number, named with its unit, with its bounds."""

    name: str
    default: int
    low: int
    high: int
    what: str


class FaultKind(Protocol):
    """Entry-point group ``kafka_trial.faults``: one kind of fault. Its module docstring is its published page."""

    name: str
    summary: str
    worlds: frozenset[str]
    params: tuple[FaultParam, ...]
    alone: bool
    lingers_s: float
    """For kinds that are ``alone``: how long brokers may remember the fault after its end, if they cannot be asked."""
    starts_nodes: bool
    """True if it stops and starts nodes, which uses the machine's cores."""

    @property
    def seen_by(self) -> tuple[str, ...]:
        """The sides that can see it: ``client``, ``witness``, ``broker``."""

    def check(self, spec: FaultSpec, world: str) -> None:
        """Raise UsageError for parameters that are impossible in ``world`` ("live" or "simulated")."""

    async def prepare(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Set up what must exist before the client connects; usually nothing."""

    async def start(self, spec: FaultSpec, lane: LiveLane) -> None: ...
    async def stop(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Undo ``start``. Must also work after a ``start`` that failed part-way."""

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Return how many frames or connections of the lane the fault affected, from the witness's rows. Pure."""

    def effect(self, row: FaultRow, evidence: Evidence) -> Consequence:
        """Return how often the trial shows that the fault took effect, and what was counted. Pure.

        Anything that would also occur without the fault must not count: added to an undisturbed trial, its row gives 0.
        A kind may omit this method; :func:`touched` then replaces it, and the verdict says so.
        """


def touched(row: FaultRow) -> Consequence:
    """Return the consequence of a kind that does not measure its effect: everything in its reach, affected or not."""
    return Consequence(row.hits, "frames or connections were in its way; this kind tells no effect")
