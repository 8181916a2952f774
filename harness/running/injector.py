"""Inject the faults of one trial: wait for each trigger, start, hold, stop, and record the actual times.

``requested_ns`` is the planned window, whose end moves for a kind that begins slowly. ``effective_ns`` has the outer
bounds of the actual one: from the call that began the fault to the return of the call that ended it. ``certain_ns`` has
the inner bounds: a call may take long on a busy machine. A fault whose trigger never occurred has none of them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence

from msgspec.structs import replace

from harness.model.contract import AnyEvent
from harness.model.rows import FaultRow, Frame
from harness.model.spec import AtTime, FaultSpec, OnClientEvent, OnFrame, OnPhase, Trigger
from harness.plugins.fault import LiveLane
from harness.plugins.registry import fault
from harness.trial.trigger_counter import TriggerCounter

NS_PER_MS = 1_000_000


class Injector:
    """The faults of one trial on one lane. ``rows`` grows as they begin and end; ``active`` are the current ones."""

    def __init__(self, specs: Sequence[FaultSpec], lane: LiveLane) -> None:
        self._lane = lane
        self._kinds = [fault(spec.kind) for spec in specs]
        self._specs = list(specs)
        self._in_effect = [asyncio.Event() for _ in specs]
        self._load_ns: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._listening: list[Callable[[AnyEvent], None]] = []
        self.rows = [FaultRow(index, spec, None, None) for index, spec in enumerate(specs)]
        self.active: list[FaultSpec] = []

    async def prepare(self) -> None:
        """Prepare what some kinds need before the client connects."""
        for kind, spec in zip(self._kinds, self._specs, strict=True):
            await kind.prepare(spec, self._lane)

    async def clear(self) -> None:
        """Remove everything that is left of any fault, including those whose trigger never occurred."""
        for kind, spec in zip(self._kinds, self._specs, strict=True):
            await kind.heal_live(spec, self._lane)

    async def run(self) -> None:
        """Inject the schedule. Return when the last fault has been stopped, even if cancelled."""
        async with asyncio.TaskGroup() as group:
            for index in range(len(self._specs)):
                group.create_task(self._one(index))

    async def startup(self) -> None:
        """Return once the faults of the start are in effect. ``run`` must be running."""
        for spec, in_effect in zip(self._specs, self._in_effect, strict=True):
            if spec.start == OnPhase("startup"):
                await in_effect.wait()

    def load_began(self, load_ns: int) -> None:
        """Start to count elapsed time."""
        self._load_ns.set_result(load_ns)

    def heard(self, event: AnyEvent) -> None:
        """Process an event of the client."""
        for listen in tuple(self._listening):
            listen(event)

    def accounted(self, frames: Sequence[Frame]) -> tuple[FaultRow, ...]:
        """Return the rows with their hits, counted in the witness's frames."""
        return tuple(
            replace(row, hits=kind.hits(row, frames))
            for kind, row in zip(self._kinds, self.rows, strict=True)
        )

    async def _one(self, index: int) -> None:
        spec, kind = self._specs[index], self._kinds[index]
        begin_ns = await self._triggered(spec.start)
        requested = (begin_ns, begin_ns + spec.duration_ms * NS_PER_MS)
        self.rows[index] = FaultRow(index, spec, requested, None)
        self.active.append(spec)
        began_ns = time.monotonic_ns()
        certain = None
        try:
            await kind.inject_live(spec, self._lane)
            since_ns = time.monotonic_ns()
            self._in_effect[index].set()
            if getattr(kind, "begins_slowly", False):
                requested = (begin_ns, time.monotonic_ns() + spec.duration_ms * NS_PER_MS)
            requested = (begin_ns, await self._over(spec.until, requested[1]))
            await self._lane.assert_as_set()
            certain = since_ns, time.monotonic_ns()
        finally:
            await to_the_end(kind.heal_live(spec, self._lane))
            self.active.remove(spec)
        effective = began_ns, time.monotonic_ns()
        self.rows[index] = FaultRow(index, spec, requested, effective, certain_ns=certain)

    async def _over(self, until: Trigger | None, end_ns: int) -> int:
        """Wait for the earlier of two ends, and return when it was due."""
        if until is None:
            await sleep_until(end_ns)
            return end_ns
        try:
            async with asyncio.timeout(max(0, end_ns - time.monotonic_ns()) / 1e9):
                return min(end_ns, await self._triggered(until))
        except TimeoutError:
            return end_ns

    async def _triggered(self, trigger: Trigger) -> int:
        """Wait for the trigger, and return when it occurred."""
        match trigger:
            case OnPhase("startup"):
                return time.monotonic_ns()
            case OnPhase():
                return await asyncio.shield(self._load_ns)
            case AtTime():
                at_ns = await asyncio.shield(self._load_ns) + trigger.ms * NS_PER_MS
                await sleep_until(at_ns)
                return at_ns
            case OnFrame() | OnClientEvent():
                await sleep_until(await asyncio.shield(self._load_ns) + trigger.after_ms * NS_PER_MS)
                return await self._counted(trigger)

    async def _counted(self, trigger: OnFrame | OnClientEvent) -> int:
        counter = TriggerCounter(trigger)
        seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def look(event: Frame | AnyEvent) -> None:
            if counter.feed(event) and not seen.done():
                seen.set_result(event.t_ns if isinstance(event, Frame) else time.monotonic_ns())

        self._lane.witness.watch(look)
        self._listening.append(look)
        try:
            return await seen
        finally:
            self._lane.witness.unwatch(look)
            self._listening.remove(look)


async def to_the_end(work: Coroutine[None, None, None]) -> None:
    """Wait for work that a cancellation must not stop. One that comes meanwhile hides an error of the work."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()
        raise


async def sleep_until(at_ns: int) -> None:
    """Sleep until the monotonic clock shows ``at_ns``. Return at once if it already does."""
    await asyncio.sleep(max(0, at_ns - time.monotonic_ns()) / 1e9)
