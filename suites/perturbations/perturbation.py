"""What the declarations of perturbations share, and the places that a seed draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.model.dice import Dice
from harness.model.evidence import Evidence
from harness.plugins.perturbation import Perturbation, Place


def drawn(perturbation: Perturbation, evidence: Evidence, seed: int, tries: int) -> list[Place]:
    """Return up to ``tries`` different places of a trial. The same seed draws the same ones."""
    left = list(perturbation.fitting(evidence))
    dice = Dice(seed, f"{perturbation.name}/{evidence.record.spec.trial}")
    return [left.pop(dice.between(0, len(left) - 1)) for _ in range(min(tries, len(left)))]


def channels(*names: str) -> frozenset[str]:
    """Return a set of channels: history, frames, log, trace, faults, record."""
    return frozenset(names)


def once(holds: Callable[[Evidence], object]) -> Callable[[Evidence], Sequence[Place]]:
    """Return a function that gives one place for the trial as a whole, if ``holds`` is true for it."""
    return lambda evidence: ("the whole trial",) if holds(evidence) else ()
