"""Inject the faults of one trial in virtual time. The rows are the same as those of :mod:`harness.running.injector`.

A fault begins at its time, or immediately after the frame that triggers it, when the broker has received that request
and the client has not yet received the response. Beginning and ending take no time, so the effective window is the
requested one, and certain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, cast

from msgspec.structs import replace

from harness.model.contract import AnyEvent
from harness.model.errors import UsageError
from harness.model.mode import Mode
from harness.model.rows import FaultRow, Frame
from harness.model.spec import AtTime, FaultSpec, OnClientEvent, OnFrame, OnPhase, Trigger
from harness.plugins.registry import fault
from harness.simulated.lane import SimulatedLane
from harness.simulated.network import Network
from harness.simulated.ports import SimulatedFaultKind
from harness.simulated.scheduler import NS_PER_MS, Event
from harness.trial.trigger_counter import TriggerCounter


class SimulatedInjector:
    """``holding`` counts the faults in effect, and ``waiting`` those that have not begun."""

    def __init__(self, specs: Sequence[FaultSpec], lane: SimulatedLane, network: Network) -> None:
        self._lane, self._network = lane, network
        self._kinds = [_simulated(spec) for spec in specs]
        self._rows = [FaultRow(index, spec, None, None) for index, spec in enumerate(specs)]
        self._ending: dict[int, Event] = {}
        self._waiting: dict[int, Callable[[], None]] = {}
        self._until: dict[int, Callable[[], None]] = {}
        self._listening: list[Callable[[Any], None]] = []
        self._load_ns = 0

    @property
    def holding(self) -> bool:
        """True while a fault is in effect."""
        return bool(self._ending)

    @property
    def waiting(self) -> bool:
        """True while a fault has not begun."""
        return bool(self._waiting)

    def startup(self) -> None:
        """Start the faults that must be in effect before the client is configured."""
        for row in self._rows:
            if row.spec.start == OnPhase("startup"):
                self._begin(row.index)

    def run(self) -> None:
        """Start the load: from now on each fault begins and ends when its trigger occurs."""
        self._load_ns = self._lane.now_ns
        for row in self._rows:
            if row.spec.start != OnPhase("startup"):
                self._when(row.spec.start, self._waiting, row.index, partial(self._begin, row.index))
            elif row.index in self._ending:
                self._end_early(row.index)

    def heard(self, event: AnyEvent) -> None:
        """Process an event of the client."""
        for listen in tuple(self._listening):
            listen(event)

    def stop_waiting(self) -> None:
        """Call off the faults that have not begun."""
        for call_off in self._waiting.values():
            call_off()
        self._waiting.clear()

    def clear(self) -> None:
        """End all faults, including those that never began."""
        self.stop_waiting()
        for index, event in list(self._ending.items()):
            event.cancel()
            self._end(index)
        for kind, row in zip(self._kinds, self._rows, strict=True):
            kind.heal_sim(row.spec, self._lane)

    def accounted(self, frames: Sequence[Frame]) -> tuple[FaultRow, ...]:
        """Return the rows with their hits."""
        return tuple(
            replace(
                row,
                hits=0 if row.effective_ns is None else kind.simulated_hits(row, frames, self._lane),
                certain_ns=row.effective_ns,
            )
            for kind, row in zip(self._kinds, self._rows, strict=True)
        )

    def _when(
        self, trigger: Trigger, waits: dict[int, Callable[[], None]], index: int, act: Callable[[], None]
    ) -> None:
        """Call ``act`` when the trigger occurs; ``waits[index]`` cancels this."""
        scheduler = self._lane.scheduler

        def due(after_load_ms: int, then: Callable[[], None]) -> None:
            at_ns = max(scheduler.now_ns, self._load_ns + after_load_ms * NS_PER_MS)
            waits[index] = scheduler.at(at_ns, then).cancel

        match trigger:
            case OnPhase():
                due(0, act)
            case AtTime():
                due(trigger.ms, act)
            case OnFrame() | OnClientEvent():
                counter = TriggerCounter(trigger)

                def look(event: Frame | AnyEvent) -> None:
                    if counter.feed(event):
                        self._unwatch(look)
                        due(0, act)

                def listen() -> None:
                    self._watch(look)
                    waits[index] = partial(self._unwatch, look)

                due(trigger.after_ms, listen)

    def _watch(self, look: Callable[[Any], None]) -> None:
        self._network.watch(look)
        self._listening.append(look)

    def _unwatch(self, look: Callable[[Any], None]) -> None:
        self._network.unwatch(look)
        self._listening.remove(look)

    def _begin(self, index: int) -> None:
        has_load_begun = self._waiting.pop(index, None) is not None
        row, now_ns = self._rows[index], self._lane.now_ns
        requested = (now_ns, now_ns + row.spec.duration_ms * NS_PER_MS)
        self._rows[index] = FaultRow(index, row.spec, requested, requested)
        self._ending[index] = self._lane.scheduler.at(requested[1], lambda: self._end(index))
        if has_load_begun:
            self._end_early(index)
        self._kinds[index].inject_sim(row.spec, self._lane)
        self._lane.settle()

    def _end_early(self, index: int) -> None:
        row = self._rows[index]
        if row.spec.until is not None and row.requested_ns is not None:
            self._when(
                row.spec.until, self._until, index, partial(self._end_asked, index, row.requested_ns[0])
            )

    def _end_asked(self, index: int, began_ns: int) -> None:
        self._until.pop(index)
        self._rows[index] = FaultRow(index, self._rows[index].spec, (began_ns, self._lane.now_ns), None)
        self._ending[index].cancel()
        self._end(index)

    def _end(self, index: int) -> None:
        self._ending.pop(index)
        if call_off := self._until.pop(index, None):
            call_off()
        row = self._rows[index]
        assert row.requested_ns is not None
        self._rows[index] = FaultRow(
            index, row.spec, row.requested_ns, (row.requested_ns[0], self._lane.now_ns)
        )
        self._kinds[index].heal_sim(row.spec, self._lane)
        self._lane.settle()


@cache
def _lives_here(kind: type) -> bool:
    """Checked once per class, because matching a class with a protocol is slow."""
    return issubclass(kind, SimulatedFaultKind)


def _simulated(spec: FaultSpec) -> SimulatedFaultKind:
    kind = fault(spec.kind)
    if Mode.SIMULATED not in kind.modes or not _lives_here(type(kind)):
        raise UsageError(
            "fault-not-in-mode",
            "fault {fault!r} does not exist in {mode} mode",
            fault=spec.kind,
            mode=Mode.SIMULATED,
        )
    return cast(SimulatedFaultKind, kind)
