"""Shrink a failing schedule to a minimal one: which smaller schedules are worth a try, round by round.

Pure: the caller runs the schedules and returns which of them failed. The number of faults is reduced first, by delta
debugging: parts of the schedule alone, then everything without a part, then smaller parts. Live trials run in parallel,
so a round is wide: for a dozen faults, trying each alone is one round, and all faults that can be removed individually
are then removed together. After that come shorter faults, earlier faults, a shorter load, simpler parameters, and fewer
brokers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from harness.model.spec import FaultSpec, TrialSpec
from harness.search.reductions import (
    Axis,
    Step,
    all_of,
    earlier_faults,
    fewer_brokers,
    only,
    shorter_faults,
    shorter_loads,
    simpler_parameters,
    without,
)

#: The initial number of parts of a schedule. One with fewer faults is tried fault by fault at once.
PARTS = 16
#: The maximum probability that a schedule with an intermittent failure is mistaken for one that does not fail.
MISSED = 0.05


class Proof(Enum):
    """The evidence needed to accept that a candidate fails.

    ``ONCE``: the search will claim that it does not fail, so it is tried often, and one failure is enough. ``STEADY``:
    it is only simpler, and must not fail less often than its origin; a few attempts are enough. ``SURE``: the same
    again, for a candidate that was steady over several steps.
    """

    ONCE = "once"
    STEADY = "steady"
    SURE = "sure"


@dataclass(frozen=True)
class Round:
    """Trials to run in parallel, the smallest first. Each is smaller than ``so_far``, which failed.

    If ``any_will_do``, the others need not be run once one of them has failed.
    """

    what: str
    so_far: TrialSpec
    candidates: tuple[TrialSpec, ...]
    proof: Proof = Proof.ONCE
    any_will_do: bool = False


Allowed = Callable[[TrialSpec], bool]
#: Yields rounds, receives for each which of its candidates failed, and returns the smallest that did.
Search = Generator[Round, Sequence[bool], TrialSpec]

Tiers = Sequence[tuple[str, Callable[[TrialSpec], list[Axis]]]]
TIERS: Tiers = (
    ("shorter faults", shorter_faults),
    ("earlier faults", earlier_faults),
    ("a shorter load", shorter_loads),
    ("simpler parameters", simpler_parameters),
    ("fewer brokers", fewer_brokers),
)


def shrink(spec: TrialSpec, allowed: Allowed, tiers: Tiers = TIERS) -> Search:
    """Reduce ``spec``, which fails, to a minimum. ``allowed`` returns whether a trial can be run at all.

    With empty ``tiers``, faults are only removed, and the remaining ones stay unchanged.
    """
    fewer = yield from fewer_faults(spec, allowed)
    while True:
        simpler = fewer
        for what, axes_of in tiers:
            simpler = yield from _surely_down(simpler, what, axes_of, allowed)
        # A fault may only now be unnecessary. If none is, this proves it for exactly the schedule that is returned.
        fewer = yield from fewer_faults(simpler, allowed)
        if fewer == simpler:
            return simpler


def fewer_faults(spec: TrialSpec, allowed: Allowed) -> Search:
    """Remove faults until none can be removed: the schedule was then tried without each of them and passed."""
    pieces = PARTS
    while spec.faults:
        parts = _parts(spec.faults, pieces)
        alone = [only(()), *map(only, parts)]
        found = yield from _failing(spec, "faults alone", alone, allowed, any_will_do=True)
        if found:
            spec = found[0](spec)
            continue
        needless = yield from _failing(spec, "without some faults", [*map(without, parts)], allowed)
        if needless:
            spec = yield from _together(spec, "without some faults", needless, allowed, Proof.ONCE)
        elif len(parts) == len(spec.faults):
            break
        else:
            pieces = 2 * len(parts)
    return spec


def without_each(spec: TrialSpec) -> list[TrialSpec]:
    """Return the trials that must pass for ``spec`` to be 1-minimal: each lacks one of its faults."""
    return [without((fault,))(spec) for fault in spec.faults]


def attempts_for(failed: int, tried: int) -> int:
    """Return how often to try a schedule that may fail in ``failed`` of ``tried`` cases; 1 if it always does."""
    if failed == tried:
        return 1
    return math.ceil(math.log(MISSED) / math.log(1 - failed / tried))


def _parts(faults: tuple[FaultSpec, ...], pieces: int) -> list[tuple[FaultSpec, ...]]:
    count = min(pieces, len(faults))
    cuts = [len(faults) * number // count for number in range(count + 1)]
    return [faults[low:high] for low, high in pairwise(cuts)]


def _failing(
    spec: TrialSpec,
    what: str,
    steps: Sequence[Step],
    allowed: Allowed,
    proof: Proof = Proof.ONCE,
    *,
    any_will_do: bool = False,
) -> Generator[Round, Sequence[bool], list[Step]]:
    """Return those of the steps after which ``spec`` still fails."""
    asked: list[Step] = []
    candidates: list[TrialSpec] = []
    for step in steps:
        candidate = step(spec)
        if candidate != spec and candidate not in candidates and allowed(candidate):
            asked.append(step)
            candidates.append(candidate)
    if not candidates:
        return []
    failed = yield Round(what, spec, tuple(candidates), proof, any_will_do)
    return [step for step, did in zip(asked, failed, strict=True) if did]


def _together(spec: TrialSpec, what: str, steps: Sequence[Step], allowed: Allowed, proof: Proof) -> Search:
    """Return ``spec`` after as many of the steps as possible. It fails after each one, but maybe not after all."""
    halved = [len(steps) >> times for times in range(len(steps).bit_length())]
    joint = [all_of(steps[:count]) for count in halved if count > 1]
    failing = yield from _failing(spec, what, joint, allowed, proof)
    return (failing or steps)[0](spec)


def _surely_down(
    spec: TrialSpec, what: str, axes_of: Callable[[TrialSpec], list[Axis]], allowed: Allowed
) -> Search:
    """Reduce, and confirm the result. If it is refuted, exclude it and reduce in another way."""
    refuted: list[TrialSpec] = []
    while True:
        lower = yield from _down(spec, what, axes_of, lambda each: each not in refuted and allowed(each))
        if lower == spec or all((yield Round(f"{what}, again", spec, (lower,), Proof.SURE))):
            return lower
        refuted.append(lower)


def _down(spec: TrialSpec, what: str, axes_of: Callable[[TrialSpec], list[Axis]], allowed: Allowed) -> Search:
    """Reduce along all axes at once, until no step leaves a trial that fails."""
    while True:
        axes = axes_of(spec)
        steps = [step for axis in axes for step in axis]
        failing = yield from _failing(spec, what, steps, allowed, Proof.STEADY)
        lowest = [found[0] for axis in axes if (found := [step for step in axis if step in failing])]
        if not lowest:
            return spec
        spec = yield from _together(spec, what, lowest, allowed, Proof.STEADY)
