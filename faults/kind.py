"""The base of every kind of fault: its parameters, acting on all brokers at once, and counting hits.

A kind is its module. The docstring is its published page, and ``FAULT`` is its one object, which has no state. In the
live world a kind works on proxies (``start``, ``stop``), in the simulated world on a lane (``begin``, ``end``).
"""

from __future__ import annotations

import asyncio
import math
import zlib
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from faults.toxiproxy_errors import NotFound
from harness.model.errors import UsageError, unknown
from harness.model.evidence import Evidence
from harness.model.rows import FaultRow, Frame, FrameKind
from harness.model.spec import FaultSpec
from harness.plugins.fault import FaultParam, LiveLane, touched
from harness.plugins.proxy import Proxy
from harness.plugins.scenario import Consequence
from harness.simulated.lane import SimulatedLane

T = TypeVar("T")

#: How long after the fault's end the witness may still see the close of a connection that the fault closed.
GRACE_NS = 200_000_000

BOTH_WORLDS = frozenset({"live", "simulated"})


class Fault:
    """The base class of a kind. By default it works in the live world only, without parameters or preparation."""

    name: str
    summary: str
    #: The sides that can see it: client, witness, broker. The section "Where it is seen" of its page says how.
    seen_by: tuple[str, ...]
    worlds: frozenset[str] = frozenset({"live"})
    params: tuple[FaultParam, ...] = ()
    #: True if it affects more than its own lane: a trial with it has its cluster to itself.
    alone: bool = False
    #: How long after its end brokers may remember it, if they cannot be asked. If infinite, its cluster is not reused.
    lingers_s: float = math.inf
    #: True if it ends nodes and starts them again, which uses the machine's cores.
    starts_nodes: bool = False
    #: True if it acts on the single frames that the spec selects.
    of_frames: bool = False
    #: What :meth:`effects` counts, worded to follow the number.
    shown_by: str = ""

    def check(self, spec: FaultSpec, world: str) -> None:
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

    def simulated_hits(self, row: FaultRow, frames: Sequence[Frame], lane: SimulatedLane) -> int:
        """As ``hits``, but kinds may also ask the proxies of the simulated world."""
        return self.hits(row, frames)


def toxic_name(spec: FaultSpec) -> str:
    """Return the name of the toxics of ``spec``. Different specs have different names, so that faults can overlap."""
    return f"{spec.kind}-{zlib.crc32(msgspec.json.encode(spec, order='deterministic')):08x}"


async def each(things: Iterable[T], act: Callable[[T], Coroutine[Any, Any, None]]) -> None:
    """Run ``act`` on all things at once, on every one of them even if some fail; then raise the first error."""
    results = await asyncio.gather(*(act(thing) for thing in things), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result


async def remove(proxy: Proxy, toxic: str) -> None:
    """Remove a toxic that may never have been added."""
    with suppress(NotFound):
        await proxy.remove_toxic(toxic)


def passed(row: FaultRow, frames: Iterable[Frame], kinds: Iterable[FrameKind]) -> Iterator[Frame]:
    """Yield the frames of those kinds that passed the witness while the fault was in effect, on its brokers."""
    return _within(row, frames, kinds, grace_ns=0)


def cut(row: FaultRow, frames: Iterable[Frame]) -> Iterator[Frame]:
    """Yield the ends of connections from the client's side, where the proxy is, while the fault was in effect."""
    closed = _within(row, frames, (FrameKind.CLOSE,), grace_ns=GRACE_NS)
    return (frame for frame in closed if frame.closed_by == "client")


def _within(
    row: FaultRow, frames: Iterable[Frame], kinds: Iterable[FrameKind], grace_ns: int
) -> Iterator[Frame]:
    if row.effective_ns is None:
        return
    began_ns, ended_ns = row.effective_ns
    wanted = frozenset(kinds)
    for frame in frames:
        on_target = not row.spec.brokers or frame.broker in row.spec.brokers
        if on_target and frame.kind in wanted and began_ns <= frame.t_ns <= ended_ns + grace_ns:
            yield frame
