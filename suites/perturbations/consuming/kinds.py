"""A kind of perturbation of groups that one check finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from harness.model.evidence import Evidence
from harness.model.verdicts import Verdict
from harness.plugins.perturbation import Perturbation

T = TypeVar("T")
CONSUME = frozenset({"consume"})


def of_consumers(
    name: str,
    changes: frozenset[str],
    defect: str,
    code: str,
    places: Callable[[Evidence], Sequence[T]],
    apply: Callable[[Evidence, T], Evidence],
    verdict: Verdict = Verdict.DIFFERS,
) -> Perturbation:
    """Return the kind that ``changes`` these channels, and that the check with this ``code`` finds."""
    return Perturbation(name, changes, defect, (code,), places, apply, verdict, workloads=CONSUME)
