"""From a failing schedule to a minimal one: which smaller ones are worth a try, round by round.

Pure: whoever runs them says which of them failed. Fewest faults come first, by delta debugging: parts of the schedule
alone, then all of it but a part, then smaller parts. Live trials run side by side, so a round is wide: of a dozen
faults each alone is one round, and what can go by itself is tried to go together. Then shorter faults, earlier ones,
a shorter load, simpler parameters, fewer brokers.
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

#: Into so many parts a schedule is cut at first; one with no more faults is tried fault by fault at once.
PARTS = 16
#: With what chance at most a schedule that fails now and then is taken for one that does not.
MISSED = 0.05


class Proof(Enum):
    """What it takes for a candidate to be one that fails.

    ``ONCE``: that it does not will be claimed, so it is tried often, and failing once is enough. ``STEADY``: it is only
    simpler, and shall not fail less often than what it came from; few attempts will do. ``SURE``: the same once more,
    of what was steady in several steps.
    """

    ONCE = "once"
    STEADY = "steady"
    SURE = "sure"


@dataclass(frozen=True)
class Round:
    """Trials to try side by side, the smallest first; each is smaller than ``so_far``, which failed.

    ``any_will_do``: as soon as one of them failed, the others need not be tried.
    """

    what: str
    so_far: TrialSpec
    candidates: tuple[TrialSpec, ...]
    proof: Proof = Proof.ONCE
    any_will_do: bool = False


Allowed = Callable[[TrialSpec], bool]
#: Gives rounds, takes for each which of its candidates failed, and ends with the smallest that did.
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
    """Make ``spec``, which fails, as small as it gets; ``allowed`` says what can be carried out at all.

    Without ``tiers`` faults are taken away, and what is left stays as it is.
    """
    fewer = yield from fewer_faults(spec, allowed)
    while True:
        simpler = fewer
        for what, axes_of in tiers:
            simpler = yield from _surely_down(simpler, what, axes_of, allowed)
        # A fault may be needless only now; and if none is, this shows it of the very schedule that comes out.
        fewer = yield from fewer_faults(simpler, allowed)
        if fewer == simpler:
            return simpler


def fewer_faults(spec: TrialSpec, allowed: Allowed) -> Search:
    """Take faults away until none can go: the schedule was then tried without each of them, and did not fail."""
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
    """What must not fail for ``spec`` to be 1-minimal: the same without any one of its faults."""
    return [without((fault,))(spec) for fault in spec.faults]


def attempts_for(failed: int, tried: int) -> int:
    """How often to try what may fail as often as ``failed`` times in ``tried``; once, if that is always."""
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
    """Those of the steps after which ``spec`` still fails."""
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
    """``spec`` after as many of the steps as it fails with; it does after each by itself, but maybe not after all."""
    halved = [len(steps) >> times for times in range(len(steps).bit_length())]
    joint = [all_of(steps[:count]) for count in halved if count > 1]
    failing = yield from _failing(spec, what, joint, allowed, proof)
    return (failing or steps)[0](spec)


def _surely_down(
    spec: TrialSpec, what: str, axes_of: Callable[[TrialSpec], list[Axis]], allowed: Allowed
) -> Search:
    """Go down, and make sure of where that led; what does not hold is left out, and the way down is another one."""
    refuted: list[TrialSpec] = []
    while True:
        lower = yield from _down(spec, what, axes_of, lambda each: each not in refuted and allowed(each))
        if lower == spec or all((yield Round(f"{what}, again", spec, (lower,), Proof.SURE))):
            return lower
        refuted.append(lower)


def _down(spec: TrialSpec, what: str, axes_of: Callable[[TrialSpec], list[Axis]], allowed: Allowed) -> Search:
    """Go down along all axes at once, until no step leaves a trial that fails."""
    while True:
        axes = axes_of(spec)
        steps = [step for axis in axes for step in axis]
        failing = yield from _failing(spec, what, steps, allowed, Proof.STEADY)
        lowest = [found[0] for axis in axes if (found := [step for step in axis if step in failing])]
        if not lowest:
            return spec
        spec = yield from _together(spec, what, lowest, allowed, Proof.STEADY)
