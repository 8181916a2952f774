"""A perturbation: one defect as data, with the places in a trial's evidence where it can be put. Pure.

It measures the checks: evidence of a trial that passed is changed as a defective client would have left it, and judged
again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from harness.model.evidence import Evidence
from harness.model.verdicts import Guarantee, Verdict

#: The place of a perturbation: an element's number, a batch's partition and base offset, or a name. It is printed as
#: is.
Place = Any


@dataclass(frozen=True, eq=False)
class Perturbation:
    """A named defect and how to apply it. Entry-point group ``kafka_trial.perturbations``: a sequence of these.

    ``defect`` is the end of the sentence "a client that ...". ``channels`` are those that it changes: history, frames,
    log, trace, faults, record. ``caught_by`` are codes of anomalies or reasons, one of which must be found, and
    ``verdict`` is the least severe verdict that it must lead to. ``places`` returns where the defect can be put into
    the evidence; empty if it does not fit. ``apply`` returns the evidence that the defect would have left in a place,
    consistent in all channels and complete, unless missing evidence is the defect itself. Evidence of other
    ``guarantees`` and ``workloads`` (None: any) is left alone. A perturbation is equal only to itself.
    """

    name: str
    channels: frozenset[str]
    defect: str
    caught_by: tuple[str, ...]
    places: Callable[[Evidence], Sequence[Place]]
    apply: Callable[[Evidence, Place], Evidence]
    verdict: Verdict = Verdict.FAIL
    guarantees: frozenset[Guarantee] = frozenset(Guarantee)
    workloads: frozenset[str] | None = frozenset({"produce"})

    def fitting(self, evidence: Evidence) -> Sequence[Place]:
        """Return the places for it in ``evidence``: none in a trial of another guarantee or workload."""
        guarantee, workload = evidence.record.spec.guarantee, evidence.record.spec.workload.kind
        is_meant = self.workloads is None or workload in self.workloads
        return self.places(evidence) if is_meant and guarantee in self.guarantees else ()

    def fits(self, evidence: Evidence) -> bool:
        """Return True if there is a place for it."""
        return len(self.fitting(evidence)) > 0
