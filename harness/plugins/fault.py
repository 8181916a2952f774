"""What the harness needs of a fault kind, and what a fault may control in a live trial."""

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
    """What sees and changes the frames of a lane (:class:`harness.witness.lane.WitnessLane`)."""

    def watch(self, callback: Callable[[Frame], None]) -> None: ...
    def unwatch(self, callback: Callable[[Frame], None]) -> None: ...
    def arm(self, name: str, match: FrameMatch, action: Any, brokers: tuple[int, ...] = ()) -> None: ...
    def disarm(self, name: str) -> None: ...


@dataclass(frozen=True)
class LiveLane:
    """What a fault may lay its hands on in the live world: the proxies, the witness, the brokers, the topic."""

    proxies: tuple[Proxy, ...]
    witness: Witness
    cluster: Cluster
    topic: str
    partitions: int = 1

    async def assert_as_set(self) -> None:
        """Raise EnvironmentProblem if a proxy is not as the faults have set it."""
        for proxy in self.proxies:
            if (what := await proxy.differs()) is not None:
                raise EnvironmentProblem(
                    f"somebody else changed the proxy of broker {proxy.address.broker} while a fault was on it: {what}"
                )

    def on(self, spec: FaultSpec) -> list[Proxy]:
        """The proxies that a fault is for: of the brokers it names, or all."""
        return [proxy for proxy in self.proxies if not spec.brokers or proxy.address.broker in spec.brokers]


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
