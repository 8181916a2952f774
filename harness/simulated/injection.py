"""Injecting the faults of one trial in virtual time: as :mod:`harness.inject`, with the same rows.

A fault begins at its moment, or right behind the frame that it waits for: the broker has had that request, and the
client not yet the answer. It takes no time to begin or to end, so what was in effect is what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import cast

from harness.errors import UsageError
from harness.registry import fault
from harness.rows import FaultRow, Frame
from harness.simulated.lane import SimulatedLane
from harness.simulated.network import Network
from harness.simulated.ports import SimulatedFaultKind
from harness.simulated.scheduler import NS_PER_MS, Event
from harness.spec import Elapsed, FaultSpec
from harness.witness.trigger import TriggerCounter


class SimulatedInjector:
    """``holding`` counts the faults that are in effect, ``waiting`` those that have not begun."""

    def __init__(self, specs: Sequence[FaultSpec], lane: SimulatedLane, network: Network) -> None:
        self._lane, self._network = lane, network
        self._kinds = [_simulated(spec) for spec in specs]
        self._rows = [FaultRow(index, spec, None, None) for index, spec in enumerate(specs)]
        self._ending: dict[int, Event] = {}
        self._waiting: dict[int, Callable[[], None]] = {}

    @property
    def holding(self) -> bool:
        """True while a fault is in effect."""
        return bool(self._ending)

    @property
    def waiting(self) -> bool:
        """True while a fault has not begun."""
        return bool(self._waiting)

    def run(self) -> None:
        """The load begins now: have each fault begin when its trigger comes."""
        for row in self._rows:
            self._arm(row.index, row.spec)

    def stop_waiting(self) -> None:
        """What has not begun will not."""
        for call_off in self._waiting.values():
            call_off()
        self._waiting.clear()

    def clear(self) -> None:
        """End everything, also what never began."""
        self.stop_waiting()
        for index, event in list(self._ending.items()):
            event.cancel()
            self._end(index)
        for kind, row in zip(self._kinds, self._rows, strict=True):
            kind.end(row.spec, self._lane)

    def accounted(self, frames: Sequence[Frame]) -> tuple[FaultRow, ...]:
        """The rows with their hits."""
        return tuple(
            FaultRow(
                row.index,
                row.spec,
                row.requested_ns,
                row.effective_ns,
                0 if row.effective_ns is None else kind.simulated_hits(row, frames, self._lane),
            )
            for kind, row in zip(self._kinds, self._rows, strict=True)
        )

    def _arm(self, index: int, spec: FaultSpec) -> None:
        scheduler, start = self._lane.scheduler, spec.start
        if isinstance(start, Elapsed):
            at = scheduler.at(scheduler.now_ns + start.ms * NS_PER_MS, lambda: self._begin(index))
            self._waiting[index] = at.cancel
            return
        counter = TriggerCounter(start)

        def watch(frame: Frame) -> None:
            if counter.feed(frame):
                self._network.unwatch(watch)
                event = scheduler.at(scheduler.now_ns, lambda: self._begin(index))
                self._waiting[index] = event.cancel

        def listen() -> None:
            self._network.watch(watch)
            self._waiting[index] = lambda: self._network.unwatch(watch)

        self._waiting[index] = scheduler.at(scheduler.now_ns + start.after_ms * NS_PER_MS, listen).cancel

    def _begin(self, index: int) -> None:
        self._waiting.pop(index)
        row, now_ns = self._rows[index], self._lane.now_ns
        requested = (now_ns, now_ns + row.spec.duration_ms * NS_PER_MS)
        self._rows[index] = FaultRow(index, row.spec, requested, requested)
        self._ending[index] = self._lane.scheduler.at(requested[1], lambda: self._end(index))
        self._kinds[index].begin(row.spec, self._lane)
        self._lane.settle()

    def _end(self, index: int) -> None:
        self._ending.pop(index)
        row = self._rows[index]
        assert row.requested_ns is not None
        self._rows[index] = FaultRow(
            index, row.spec, row.requested_ns, (row.requested_ns[0], self._lane.now_ns)
        )
        self._kinds[index].end(row.spec, self._lane)
        self._lane.settle()


@cache
def _lives_here(kind: type) -> bool:
    """Asked once of each class: to hold one against a protocol is dear."""
    return issubclass(kind, SimulatedFaultKind)


def _simulated(spec: FaultSpec) -> SimulatedFaultKind:
    kind = fault(spec.kind)
    if "simulated" not in kind.worlds or not _lives_here(type(kind)):
        raise UsageError(f"fault {spec.kind!r} does not exist in the simulated world")
    simulated = cast(SimulatedFaultKind, kind)
    simulated.values(spec)
    return simulated
