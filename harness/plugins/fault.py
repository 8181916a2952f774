"""The interface of a fault kind, its base class, and everything that a fault can control in a live trial."""

from __future__ import annotations

import asyncio
import math
import zlib
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import msgspec

from harness.model.consumer_contract import ConsumerCommand
from harness.model.contract import OpComplete
from harness.model.errors import EnvironmentProblem, UsageError, unknown
from harness.model.evidence import Evidence
from harness.model.mode import LIVE_ONLY, Mode
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec, FrameMatch
from harness.plugins.cluster import Cluster
from harness.plugins.proxy import NoSuchToxic, Proxy
from harness.plugins.scenario import Consequence

T = TypeVar("T")


class Witness(Protocol):
    """The part of the witness that a fault uses (:class:`harness.witness.lane.WitnessLane`)."""

    def watch(self, callback: Callable[[Frame], None]) -> None: ...
    def unwatch(self, callback: Callable[[Frame], None]) -> None: ...
    def arm(self, name: str, match: FrameMatch, action: Any, brokers: tuple[int, ...] = ()) -> None: ...
    def disarm(self, name: str) -> None: ...


class Members(Protocol):
    """The part of a group's processes that a fault uses (:class:`harness.running.members.Members`)."""

    #: Fault -> the process on which it acts, while it does.
    held: dict[str, str]
    #: How long each works on a turn unless a fault changes it.
    processing_ms: int

    @property
    def processes(self) -> tuple[str, ...]: ...
    async def join(self, place: str = "") -> str: ...
    async def kill(self, process: str) -> None: ...
    async def leave(self, process: str, timeout_ms: int) -> None: ...
    async def freeze(self, process: str) -> None: ...
    async def thaw(self, process: str) -> None: ...
    async def call(self, process: str, command: ConsumerCommand) -> OpComplete | None: ...
    async def renew(self, process: str) -> None: ...
    async def prepare_transaction(self, name: str) -> None: ...
    async def write_aside(self, count: int) -> None: ...
    async def hold(self) -> None: ...
    async def release(self) -> None: ...
    async def open_transaction(self, name: str, count: int) -> None: ...
    async def end_transaction(self, name: str, *, commits: bool) -> None: ...


@dataclass(frozen=True)
class LiveLane:
    """Everything a live fault can control: the proxies, the witness, the brokers, the topic.

    ``members`` are the processes of the group, or None if the clients produce.
    """

    proxies: tuple[Proxy, ...]
    witness: Witness
    cluster: Cluster
    topic: str
    partitions: int = 1
    members: Members | None = None

    async def assert_as_set(self) -> None:
        """Raise EnvironmentProblem if a proxy is not in the state that the faults have set."""
        for proxy in self.proxies:
            if (what := await proxy.differs()) is not None:
                raise EnvironmentProblem(
                    "proxy-changed-by-others",
                    "another program changed the proxy of broker {broker} during a fault: {what}",
                    broker=proxy.address.broker,
                    what=what,
                )

    def on(self, spec: FaultSpec) -> list[Proxy]:
        """Return the proxies that a fault applies to: those of the brokers that it names, or all."""
        return [proxy for proxy in self.proxies if not spec.brokers or proxy.address.broker in spec.brokers]

    async def add_toxic(self, spec: FaultSpec, kind: str, stream: str, **attributes: int) -> None:
        """Add a toxic of this kind to every proxy of the fault, for ``stream`` "upstream" or "downstream".

        ``attributes`` are those of Toxiproxy's toxic. If a proxy raises an error, the others have the toxic; the first
        error is raised.
        """
        name = f"{toxic_name(spec)}-{stream}"
        await each(self.on(spec), lambda proxy: proxy.add_toxic(name, kind, stream, 1.0, **attributes))

    async def remove_toxic(self, spec: FaultSpec, stream: str) -> None:
        """Remove the toxic that :meth:`add_toxic` added for the stream, from every proxy that has it."""
        name = f"{toxic_name(spec)}-{stream}"
        await each(self.on(spec), lambda proxy: remove(proxy, name))


async def each(things: Iterable[T], act: Callable[[T], Coroutine[Any, Any, None]]) -> None:
    """Run ``act`` on all things at once, on every one of them even if some fail; then raise the first error."""
    results = await asyncio.gather(*(act(thing) for thing in things), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result


async def remove(proxy: Proxy, toxic: str) -> None:
    """Remove a toxic that may never have been added."""
    with suppress(NoSuchToxic):
        await proxy.remove_toxic(toxic)


def toxic_name(spec: FaultSpec) -> str:
    """Return the name of the toxics of ``spec``. Different specs have different names, so that faults can overlap."""
    return f"{spec.kind}-{zlib.crc32(msgspec.json.encode(spec, order='deterministic')):08x}"


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
    modes: frozenset[Mode]
    params: tuple[FaultParam, ...]
    exclusive_cluster: bool
    lingers_s: float
    """For kinds with an ``exclusive_cluster``: how long brokers may remember the fault after its end, if they cannot be
    asked.
    """
    starts_nodes: bool
    """True if it stops and starts nodes, which uses the machine's cores."""
    begins_slowly: bool
    """True if it takes seconds to come into effect. Its duration counts from then."""

    @property
    def seen_by(self) -> tuple[str, ...]:
        """The sides that can see it: ``client``, ``witness``, ``broker``."""

    def check(self, spec: FaultSpec, mode: Mode) -> None:
        """Raise UsageError for parameters that are impossible in ``mode``."""

    async def prepare(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Set up what must exist before the client connects; usually nothing."""

    async def inject_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Start the fault on the lane, and return once it is in effect."""

    async def heal_live(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Undo ``inject_live``. Must also work after a ``inject_live`` that failed part-way."""

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Return how many frames or connections of the lane the fault affected, from the witness's rows. Pure."""

    def effect(self, row: FaultRow, evidence: Evidence) -> Consequence:
        """Return how often the trial shows that the fault took effect, and what was counted. Pure.

        Anything that would also occur without the fault must not count: added to an undisturbed trial, its row gives 0.
        A kind may omit this method; :func:`touched` then replaces it, and the verdict says so.
        """


def touched(row: FaultRow) -> Consequence:
    """Return the consequence of a kind that does not measure its effect: everything in its reach, affected or not."""
    return Consequence(row.hits, "frames or connections were in its reach; this kind measures no effect")


class Fault:
    """The base class of a fault kind. By default it works in live mode only, without parameters or preparation.

    A kind has a ``name``, a ``summary``, ``hits``, and for live mode ``inject_live`` and ``heal_live``
    (:class:`FaultKind`). For simulated mode it has ``inject_sim`` and ``heal_sim``
    (:class:`harness.simulated.ports.SimulatedFaultKind`).
    """

    name: str
    summary: str
    #: The sides that can see it: client, witness, broker. The section "Where it is seen" of its page says how.
    seen_by: tuple[str, ...]
    modes: frozenset[Mode] = LIVE_ONLY
    params: tuple[FaultParam, ...] = ()
    #: True if it affects more than its own lane: a trial with it has its cluster to itself.
    exclusive_cluster: bool = False
    #: How long after its end brokers may remember it, if they cannot be asked. If infinite, its cluster is not reused.
    lingers_s: float = math.inf
    #: True if it ends nodes and starts them again, which uses the machine's cores.
    starts_nodes: bool = False
    #: True if it takes seconds to come into effect. Its duration counts from then.
    begins_slowly: bool = False
    #: True if it acts on the single frames that the spec selects.
    of_frames: bool = False
    #: True if it acts on the members of a group: the trial's clients must consume.
    of_members: bool = False
    #: True if it may act on a group's topic before the first member starts.
    before_members: bool = False
    #: True if it removes records that a leader has acknowledged: the trial's clients must consume.
    loses_records: bool = False
    #: What :meth:`effects` counts, worded to follow the number.
    shown_by: str = ""

    def check(self, spec: FaultSpec, mode: Mode) -> None:
        """Check the parameters before anything runs. Raise UsageError, with a message of one sentence."""
        self.values(spec)

    async def prepare(self, spec: FaultSpec, lane: LiveLane) -> None:
        """Prepare for the fault before the client starts. By default, do nothing."""

    def values(self, spec: FaultSpec) -> dict[str, int]:
        """Return the value of every parameter, with defaults filled in.

        Raise UsageError for an unknown name, for a value out of bounds, or for ``frames`` if the kind does not act on
        frames.
        """
        if spec.frames is not None and not self.of_frames:
            raise UsageError(
                "frames-not-taken",
                "fault {fault!r} does not act on single frames: leave 'frames' out, or take a kind that does",
                fault=self.name,
            )
        known = {param.name: param for param in self.params}
        for name, value in spec.params.items():
            if name not in known:
                raise unknown(f"parameter of fault {self.name!r}", name, known)
            if not known[name].low <= value <= known[name].high:
                raise UsageError(
                    "fault-param-range",
                    "{name} of fault {fault!r} must be {low} to {high}, not {value}",
                    name=name,
                    fault=self.name,
                    low=known[name].low,
                    high=known[name].high,
                    value=value,
                )
        return {name: spec.params.get(name, param.default) for name, param in known.items()}

    def hits(self, row: FaultRow, frames: Sequence[Frame]) -> int:
        """Count what the witness saw of the fault."""
        raise NotImplementedError

    def effect(self, row: FaultRow, evidence: Evidence) -> Consequence:
        """Return how often the fault visibly took effect, by :meth:`effects` or, if that is None, by its hits."""
        count = self.effects(row, evidence)
        return touched(row) if count is None else Consequence(count, self.shown_by)

    def effects(self, row: FaultRow, evidence: Evidence) -> int | None:
        """Return the count for :meth:`effect`, of what ``shown_by`` names. It is 0 in a trial without the fault."""
        return None

    def simulated_hits(self, row: FaultRow, frames: Sequence[Frame], lane: Any) -> int:
        """As ``hits``, but kinds may also ask the proxies of simulated mode."""
        return self.hits(row, frames)


def passed(
    row: FaultRow, frames: Iterable[Frame], kinds: Iterable[FrameKind], grace_ns: int = 0
) -> Iterator[Frame]:
    """Yield the frames of those kinds that passed the witness while the fault was in effect, on its brokers.

    Frames up to ``grace_ns`` after its end count too.
    """
    if row.effective_ns is None:
        return
    began_ns, ended_ns = row.effective_ns
    wanted = frozenset(kinds)
    for frame in frames:
        on_target = not row.spec.brokers or frame.broker in row.spec.brokers
        if on_target and frame.kind in wanted and began_ns <= frame.t_ns <= ended_ns + grace_ns:
            yield frame
