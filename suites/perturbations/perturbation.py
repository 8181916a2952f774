"""A perturbation: one defect as data, with the places in a trial's evidence where it can be put.

Pure. ``places`` looks for what the defect needs (a guarantee, a setting, a batch that was acknowledged). If
it finds nothing, the perturbation does not fit. ``apply`` returns the evidence that the defect would have
left there. This evidence is complete, unless missing evidence is the defect itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.model.dice import Dice
from harness.model.evidence import Evidence
from harness.model.verdicts import Guarantee, Verdict
from suites.analysis.promises import EVERY

#: The place of a perturbation: a record's number, a batch's partition and base offset, or a name. It is
#: printed as is.
Place = Any


@dataclass(frozen=True, eq=False)
class Perturbation:
    """A named defect and how to apply it.

    ``defect`` is a sentence whose subject is the client. ``caught_by`` are codes of anomalies or reasons.
    ``verdict`` is the least severe verdict that it must lead to. A perturbation is equal only to itself.
    """

    name: str
    channels: frozenset[str]
    defect: str
    caught_by: tuple[str, ...]
    places: Callable[[Evidence], Sequence[Place]]
    apply: Callable[[Evidence, Place], Evidence]
    verdict: Verdict = Verdict.FAIL
    guarantees: frozenset[Guarantee] = EVERY

    def fitting(self, evidence: Evidence) -> Sequence[Place]:
        """Return the places for it in ``evidence``: none under a guarantee that does not forbid the defect."""
        return self.places(evidence) if evidence.record.spec.guarantee in self.guarantees else ()

    def fits(self, evidence: Evidence) -> bool:
        """True if there is a place for it."""
        return len(self.fitting(evidence)) > 0


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
