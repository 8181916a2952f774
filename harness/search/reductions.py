"""The possible reductions of a failing trial: single steps, and the size by which trials are compared. Pure.

An axis is one property that can be reduced (a fault's duration, the load). It is a list of the possible steps, the one
with the smallest result first. Steps of different axes can be combined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import combinations

from msgspec.structs import replace

from harness.model.spec import AtTime, FaultSpec, FrameMatch, OnClientEvent, OnFrame, TrialSpec

#: A function from a trial to one that is smaller in one property.
Step = Callable[[TrialSpec], TrialSpec]
Axis = list[Step]
_Change = Callable[[FaultSpec], FaultSpec]

#: The fields of a trigger that determine its time, and the minimum of each.
STARTS = (("ms", 0), ("after_ms", 0), ("nth", 1))
#: The fields that restrict a fault to certain frames.
NARROWING = ("version", "client_id", "partition", "error_code", "connection")
#: A load has the records of the warm-up, and at least as many after them.
FEWEST_CHUNKS = 2


def size(spec: TrialSpec) -> tuple[int, ...]:
    """Return the properties to be reduced, the most important first. Every step reduces this value."""
    faults = spec.faults
    return (
        len(faults),
        sum(fault.duration_ms for fault in faults),
        sum(_start(fault, name, low) for fault in faults for name, low in STARTS),
        spec.workload.records,
        sum(len(fault.params) + (fault.until is not None) + len(_narrowed(fault.frames)) for fault in faults),
        sum(sum(fault.params.values()) for fault in faults),
        sum(fault.frames.first + fault.frames.count for fault in faults if fault.frames is not None),
        sum(len(_brokers_of(fault, spec)) for fault in faults),
    )


def only(faults: Sequence[FaultSpec]) -> Step:
    """Return the step that keeps only these faults."""
    return lambda spec: replace(spec, faults=tuple(faults))


def without(faults: Sequence[FaultSpec]) -> Step:
    """Return the step that removes these faults."""
    return lambda spec: replace(spec, faults=tuple(each for each in spec.faults if each not in faults))


def all_of(steps: Sequence[Step]) -> Step:
    """Return the step that applies all steps in turn."""
    return lambda spec: reduce(lambda smaller, step: step(smaller), steps, spec)


def shorter_faults(spec: TrialSpec) -> list[Axis]:
    """Return the axes that shorten each fault."""
    return [
        [_in_fault(index, _with(duration_ms=ms)) for ms in _rungs(0, fault.duration_ms)]
        for index, fault in enumerate(spec.faults)
    ]


def earlier_faults(spec: TrialSpec) -> list[Axis]:
    """Return the axes that start each fault earlier, which allows a shorter load."""
    return [
        [_in_fault(index, _starting(name, value)) for value in _rungs(low, _start(fault, name, low))]
        for index, fault in enumerate(spec.faults)
        for name, low in STARTS
    ]


def shorter_loads(spec: TrialSpec) -> list[Axis]:
    """Return the axis that reduces the number of records."""
    chunks = spec.workload.records // spec.workload.records_per_command
    return [[_with_chunks(fewer) for fewer in _rungs(FEWEST_CHUNKS, chunks)]]


def simpler_parameters(spec: TrialSpec) -> list[Axis]:
    """Return the axes that drop a parameter, so that its default applies, or that shorten a time."""
    axes = []
    for index, fault in enumerate(spec.faults):
        changes = [_less_of(name, value) for name, value in fault.params.items()]
        if fault.until is not None:
            changes.append([_with(until=None)])
        changes += [[_with_frames(name, None)] for name in _narrowed(fault.frames)]
        if fault.frames is not None:
            for name in ("first", "count"):
                rungs = _rungs(1, getattr(fault.frames, name))
                changes.append([_with_frames(name, value) for value in rungs])
        axes += [[_in_fault(index, change) for change in axis] for axis in changes]
    return axes


def fewer_brokers(spec: TrialSpec) -> list[Axis]:
    """Return the axes that reduce the brokers of each fault."""
    return [
        [
            _in_fault(index, _with(brokers=fewer))
            for count in range(1, len(brokers))
            for fewer in combinations(brokers, count)
        ]
        for index, fault in enumerate(spec.faults)
        for brokers in [_brokers_of(fault, spec)]
    ]


def _rungs(low: int, value: int) -> list[int]:
    """Return smaller values to try: the minimum, then an eighth, a quarter and half of the distance from it."""
    gap = value - low
    return sorted({low, *(low + (gap >> times) for times in (3, 2, 1))} - {value}) if gap > 0 else []


def _start(fault: FaultSpec, name: str, low: int) -> int:
    return int(getattr(fault.start, name, low))


def _narrowed(frames: FrameMatch | None) -> list[str]:
    return [name for name in NARROWING if getattr(frames, name, None) is not None]


def _brokers_of(fault: FaultSpec, spec: TrialSpec) -> tuple[int, ...]:
    _, _, nodes = spec.broker.rpartition("x")
    return fault.brokers or tuple(range(1, int(nodes) + 1) if nodes.isdecimal() else (1,))


def _in_fault(index: int, change: _Change) -> Step:
    def step(spec: TrialSpec) -> TrialSpec:
        before, fault, behind = spec.faults[:index], spec.faults[index], spec.faults[index + 1 :]
        return replace(spec, faults=(*before, change(fault), *behind))

    return step


def _with(**changes: object) -> _Change:
    return lambda fault: replace(fault, **changes)


def _starting(name: str, value: int) -> _Change:
    def change(fault: FaultSpec) -> FaultSpec:
        assert isinstance(fault.start, AtTime | OnFrame | OnClientEvent)
        return replace(fault, start=replace(fault.start, **{name: value}))

    return change


def _with_chunks(chunks: int) -> Step:
    return lambda spec: replace(
        spec, workload=replace(spec.workload, records=chunks * spec.workload.records_per_command)
    )


def _less_of(name: str, value: int) -> list[_Change]:
    shorter = _rungs(0, value) if name.endswith("_ms") else []
    return [_without_param(name), *(_with_param(name, each) for each in shorter)]


def _without_param(name: str) -> _Change:
    return lambda fault: replace(fault, params={n: value for n, value in fault.params.items() if n != name})


def _with_param(name: str, value: int) -> _Change:
    return lambda fault: replace(fault, params=fault.params | {name: value})


def _with_frames(name: str, value: int | None) -> _Change:
    def change(fault: FaultSpec) -> FaultSpec:
        assert fault.frames is not None
        return replace(fault, frames=replace(fault.frames, **{name: value}))

    return change
