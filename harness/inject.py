"""Injecting the faults of one trial: wait for each trigger, start, hold, stop, and write down what really was.

``requested_ns`` is the window that the plan asked for, ``effective_ns`` the outer bounds of the one that was:
from the call that began the fault to the return of the call that ended it. A fault whose trigger never came
has neither. ``holding`` counts the faults that are in effect now.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from harness.lane import LiveLane
from harness.ports import FaultKind
from harness.registry import fault
from harness.rows import FaultRow, Frame
from harness.spec import Elapsed, FaultSpec
from harness.witness.trigger import TriggerCounter

NS_PER_MS = 1_000_000


class Injector:
    """The faults of one trial on one lane; ``rows`` is filled as they begin and end."""

    def __init__(self, specs: Sequence[FaultSpec], lane: LiveLane) -> None:
        self._lane = lane
        self._kinds = [fault(spec.kind) for spec in specs]
        self._specs = list(specs)
        self.rows = [FaultRow(index, spec, None, None) for index, spec in enumerate(specs)]
        self.holding = 0

    async def prepare(self) -> None:
        """Put in place what some kinds need before the client connects."""
        for kind, spec in zip(self._kinds, self._specs, strict=True):
            await kind.prepare(spec, self._lane)

    async def clear(self) -> None:
        """Take away what is still there of any fault, also of those whose trigger never came."""
        for kind, spec in zip(self._kinds, self._specs, strict=True):
            await kind.stop(spec, self._lane)

    async def run(self, load_ns: int) -> None:
        """Carry out the schedule; returns when the last fault has been stopped, also if cancelled."""
        async with asyncio.TaskGroup() as group:
            for index in range(len(self._specs)):
                group.create_task(self._one(index, load_ns))

    def accounted(self, frames: Sequence[Frame]) -> tuple[FaultRow, ...]:
        """The rows with their hits, counted in the witness's frames."""
        return tuple(
            FaultRow(row.index, row.spec, row.requested_ns, row.effective_ns, kind.hits(row, frames))
            for kind, row in zip(self._kinds, self.rows, strict=True)
        )

    async def _one(self, index: int, load_ns: int) -> None:
        spec, kind = self._specs[index], self._kinds[index]
        begin_ns = await self._triggered(spec, load_ns)
        requested = (begin_ns, begin_ns + spec.duration_ms * NS_PER_MS)
        self.rows[index] = FaultRow(index, spec, requested, None)
        self.holding += 1
        try:
            effective = await _hold(kind, spec, self._lane, requested[1])
            self.rows[index] = FaultRow(index, spec, requested, effective)
        finally:
            self.holding -= 1

    async def _triggered(self, spec: FaultSpec, load_ns: int) -> int:
        if isinstance(spec.start, Elapsed):
            at_ns = load_ns + spec.start.ms * NS_PER_MS
            await sleep_until(at_ns)
            return at_ns
        await sleep_until(load_ns + spec.start.after_ms * NS_PER_MS)
        counter = TriggerCounter(spec.start)
        seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def watch(frame: Frame) -> None:
            if counter.feed(frame) and not seen.done():
                seen.set_result(frame.t_ns)

        self._lane.witness.watch(watch)
        try:
            return await seen
        finally:
            self._lane.witness.unwatch(watch)


async def _hold(kind: FaultKind, spec: FaultSpec, lane: LiveLane, until_ns: int) -> tuple[int, int]:
    began_ns = time.monotonic_ns()
    try:
        await kind.start(spec, lane)
        await sleep_until(until_ns)
    finally:
        await asyncio.shield(kind.stop(spec, lane))
    return began_ns, time.monotonic_ns()


async def sleep_until(at_ns: int) -> None:
    """Sleep until the monotonic clock shows ``at_ns``; at once if it already does."""
    await asyncio.sleep(max(0, at_ns - time.monotonic_ns()) / 1e9)
