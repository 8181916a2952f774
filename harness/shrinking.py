"""From a failing schedule to a minimal one: which smaller schedules are worth a try. Pure; whoever runs them says which failed.

Fewest faults come first, by delta debugging: parts of the schedule alone, then all of it but a part, then smaller
parts. Live trials run side by side, so a round is wide: of a dozen faults each alone is one round, and what can go by
itself is taken away together. Then shorter faults, earlier ones, a shorter load, simpler parameters, fewer brokers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations

from msgspec.structs import replace

from harness.spec import ClientTold, Elapsed, FaultSpec, FrameMatch, FrameSeen, TrialSpec

#: Into so many parts a schedule is cut at first; one with no more faults is tried fault by fault at once.
PARTS = 16
#: What a flaky schedule may be missed with, and be called one that does not fail.
MISSED = 0.05
#: A load has the records of the warm-up, and at least as many behind them.
FEWEST_CHUNKS = 2


@dataclass(frozen=True)
class Round:
    """Trials that could be tried side by side, the smallest first; each is smaller than ``so_far``, which failed.

    ``any_will_do``: as soon as one of them fails, the others need not be tried.
    """

    what: str
    so_far: TrialSpec
    candidates: tuple[TrialSpec, ...]
    any_will_do: bool = False


Edit = Callable[[TrialSpec], TrialSpec]
Allowed = Callable[[TrialSpec], bool]
#: Gives rounds, takes for each which of its candidates failed, and ends with the smallest that did.
Search = Generator[Round, Sequence[bool], TrialSpec]


def shrink(spec: TrialSpec, allowed: Allowed) -> Search:
    """Make ``spec``, which fails, as small as it gets; ``allowed`` says what can be carried out at all."""
    fewer = yield from fewer_faults(spec, allowed)
    while True:
        tidy = fewer
        for what, axes_of in TIERS:
            tidy = yield from _simpler(tidy, what, axes_of, allowed)
        fewer = yield from fewer_faults(tidy, allowed)
        if fewer == tidy:
            return tidy


def fewer_faults(spec: TrialSpec, allowed: Allowed) -> Search:
    """Take faults away until none can go: each was tried alone, and the schedule was tried without each."""
    pieces = PARTS
    while spec.faults:
        parts = _parts(spec.faults, pieces)
        alone = [_only(()), *map(_only, parts)]
        found = yield from _failing(spec, "a part of the faults", alone, allowed, any_will_do=True)
        if found:
            spec = found[0](spec)
            continue
        needless = yield from _failing(spec, "all faults but a part", [*map(_without, parts)], allowed)
        if needless:
            spec = yield from _together(spec, "all faults but those", needless, allowed)
        elif len(parts) == len(spec.faults):
            break
        else:
            pieces = 2 * len(parts)
    return spec


def without_each(spec: TrialSpec, allowed: Allowed) -> list[TrialSpec]:
    """What must not fail for ``spec`` to be 1-minimal: the same without any one of its faults."""
    fewer = [_without((fault,))(spec) for fault in spec.faults]
    return [candidate for candidate in fewer if allowed(candidate)]


def size(spec: TrialSpec) -> tuple[int, ...]:
    """What is made smaller, the most important first; every candidate of a round is smaller than what it came from."""
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


def attempts_for(failed: int, tried: int) -> int:
    """How often to try what may fail as often as ``failed`` in ``tried``: once if that is always.

    Else so often that it is missed with at most ``MISSED``.
    """
    if failed == tried:
        return 1
    return math.ceil(math.log(MISSED) / math.log(1 - failed / tried))


def _failing(
    spec: TrialSpec, what: str, edits: Sequence[Edit], allowed: Allowed, *, any_will_do: bool = False
) -> Generator[Round, Sequence[bool], list[Edit]]:
    """Those of the edits after which ``spec`` still fails."""
    asked: list[Edit] = []
    candidates: list[TrialSpec] = []
    for edit in edits:
        candidate = edit(spec)
        if candidate != spec and candidate not in candidates and allowed(candidate):
            asked.append(edit)
            candidates.append(candidate)
    if not candidates:
        return []
    failed = yield Round(what, spec, tuple(candidates), any_will_do)
    return [edit for edit, did in zip(asked, failed, strict=True) if did]


def _together(spec: TrialSpec, what: str, edits: Sequence[Edit], allowed: Allowed) -> Search:
    """``spec`` after as many of the edits as it fails with; after each by itself it does, after all it may not."""
    halved = [len(edits) >> times for times in range(len(edits).bit_length())]
    joint = [_all_of(edits[:count]) for count in halved if count > 1]
    failing = yield from _failing(spec, what, joint, allowed)
    return (failing or edits)[0](spec)


def _simpler(
    spec: TrialSpec, what: str, axes_of: Callable[[TrialSpec], list[list[Edit]]], allowed: Allowed
) -> Search:
    """Go down along all axes at once, until no step leaves a trial that fails. An axis has its smallest end first."""
    while True:
        axes = axes_of(spec)
        failing = yield from _failing(spec, what, [edit for axis in axes for edit in axis], allowed)
        lowest = [found[0] for axis in axes if (found := [edit for edit in axis if edit in failing])]
        if not lowest:
            return spec
        spec = yield from _together(spec, what, lowest, allowed)


# the edits


def _only(faults: tuple[FaultSpec, ...]) -> Edit:
    return lambda spec: replace(spec, faults=faults)


def _without(faults: tuple[FaultSpec, ...]) -> Edit:
    return lambda spec: replace(spec, faults=tuple(each for each in spec.faults if each not in faults))


def _all_of(edits: Sequence[Edit]) -> Edit:
    return lambda spec: reduce(lambda edited, edit: edit(edited), edits, spec)


def _in_fault(index: int, change: Callable[[FaultSpec], FaultSpec]) -> Edit:
    def edit(spec: TrialSpec) -> TrialSpec:
        before, fault, behind = spec.faults[:index], spec.faults[index], spec.faults[index + 1 :]
        return replace(spec, faults=(*before, change(fault), *behind))

    return edit


def _parts(faults: tuple[FaultSpec, ...], pieces: int) -> list[tuple[FaultSpec, ...]]:
    count = min(pieces, len(faults))
    cuts = [len(faults) * number // count for number in range(count + 1)]
    return [faults[low:high] for low, high in zip(cuts, cuts[1:], strict=False)]


def _rungs(low: int, value: int) -> list[int]:
    """Smaller values to try: the least, then an eighth, a quarter, half of the way from there."""
    gap = value - low
    return sorted({low, *(low + (gap >> times) for times in (3, 2, 1))} - {value}) if gap > 0 else []


# the axes: for each thing that can be made smaller its edits, the smallest result first


def _durations(spec: TrialSpec) -> list[list[Edit]]:
    return [
        [_in_fault(index, _changed(duration_ms=ms)) for ms in _rungs(0, fault.duration_ms)]
        for index, fault in enumerate(spec.faults)
    ]


#: What of a trigger says when it comes, and the least that it can be.
STARTS = (("ms", 0), ("after_ms", 0), ("nth", 1))


def _start(fault: FaultSpec, name: str, low: int) -> int:
    return int(getattr(fault.start, name, low))


def _starts(spec: TrialSpec) -> list[list[Edit]]:
    def earlier(name: str, value: int) -> Callable[[FaultSpec], FaultSpec]:
        def change(fault: FaultSpec) -> FaultSpec:
            assert isinstance(fault.start, Elapsed | FrameSeen | ClientTold)
            return replace(fault, start=replace(fault.start, **{name: value}))

        return change

    return [
        [_in_fault(index, earlier(name, value)) for value in _rungs(low, _start(fault, name, low))]
        for index, fault in enumerate(spec.faults)
        for name, low in STARTS
    ]


def _loads(spec: TrialSpec) -> list[list[Edit]]:
    def of_chunks(chunks: int) -> Edit:
        return lambda spec: replace(
            spec, workload=replace(spec.workload, records=chunks * spec.workload.chunk)
        )

    return [
        [of_chunks(chunks) for chunks in _rungs(FEWEST_CHUNKS, spec.workload.records // spec.workload.chunk)]
    ]


def _parameters(spec: TrialSpec) -> list[list[Edit]]:
    """What is left out has its default, or is any; a time may also be shorter. An end before its time may not come."""
    axes = []
    for index, fault in enumerate(spec.faults):
        for name, value in fault.params.items():
            smaller = _rungs(0, value) if name.endswith("_ms") else []
            changes = [_without_param(name), *(_with_param(name, each) for each in smaller)]
            axes.append([_in_fault(index, change) for change in changes])
        if fault.until is not None:
            axes.append([_in_fault(index, _changed(until=None))])
        for name in _narrowed(fault.frames):
            axes.append([_in_fault(index, _with_frames(name, None))])
        if fault.frames is not None:
            for name, value in (("first", fault.frames.first), ("count", fault.frames.count)):
                axes.append([_in_fault(index, _with_frames(name, each)) for each in _rungs(1, value)])
    return axes


def _changed(**changes: object) -> Callable[[FaultSpec], FaultSpec]:
    return lambda fault: replace(fault, **changes)


def _without_param(name: str) -> Callable[[FaultSpec], FaultSpec]:
    return lambda fault: replace(
        fault, params={other: value for other, value in fault.params.items() if other != name}
    )


def _with_param(name: str, value: int) -> Callable[[FaultSpec], FaultSpec]:
    return lambda fault: replace(fault, params=fault.params | {name: value})


#: What narrows down which frames are meant.
NARROWING = ("version", "client_id", "partition", "error_code", "connection")


def _narrowed(frames: FrameMatch | None) -> list[str]:
    return [name for name in NARROWING if getattr(frames, name, None) is not None]


def _with_frames(name: str, value: int | None) -> Callable[[FaultSpec], FaultSpec]:
    def change(fault: FaultSpec) -> FaultSpec:
        assert fault.frames is not None
        return replace(fault, frames=replace(fault.frames, **{name: value}))

    return change


def _brokers_of(fault: FaultSpec, spec: TrialSpec) -> tuple[int, ...]:
    _, _, nodes = spec.broker.rpartition("x")
    return fault.brokers or tuple(range(1, int(nodes) + 1) if nodes.isdecimal() else (1,))


def _brokers(spec: TrialSpec) -> list[list[Edit]]:
    return [
        [
            _in_fault(index, _changed(brokers=fewer))
            for count in range(1, len(brokers))
            for fewer in combinations(brokers, count)
        ]
        for index, fault in enumerate(spec.faults)
        for brokers in [_brokers_of(fault, spec)]
    ]


TIERS: tuple[tuple[str, Callable[[TrialSpec], list[list[Edit]]]], ...] = (
    ("shorter faults", _durations),
    ("earlier faults", _starts),
    ("a shorter load", _loads),
    ("simpler parameters", _parameters),
    ("fewer brokers", _brokers),
)
