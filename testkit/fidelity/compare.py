"""Compare two plays of a plan: find every difference, with its reason if it is a known one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from testkit.fidelity.differences import KnownDifference, reason
from testkit.fidelity.observed import Plain
from testkit.fidelity.player import Played
from testkit.fidelity.steps import FidelityPlan, Step

_ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference.

    ``path`` leads from the response to the value. ``step`` is None for the logs at the end. ``known`` is the reason for
    a permitted difference.
    """

    plan: str
    index: int
    step: Step | None
    path: str
    real: Plain
    scripted: Plain
    known: KnownDifference | None

    def __str__(self) -> str:
        what = "logs" if self.step is None else f"step {self.index}: {self.step}"
        return f"{self.plan}, {what}\n  {self.path}: real {self.real!r}, scripted {self.scripted!r}"


def differences(plan: FidelityPlan, real: Played, scripted: Played) -> Iterator[Difference]:
    """Yield the differences in the order of the steps, followed by those of the logs."""
    for index, (step, heard, said) in enumerate(zip(plan.steps, real.heard, scripted.heard, strict=True)):
        for path, one, other in _unequal(heard, said, ""):
            known = reason(type(step).__name__, path, one, other)
            yield Difference(plan.name, index, step, path, one, other, known)
    for index in sorted({*real.late, *scripted.late}):
        step = plan.steps[index]
        pair = real.late.get(index, _ABSENT), scripted.late.get(index, _ABSENT)
        for path, one, other in _unequal(*pair, "late"):
            known = reason(type(step).__name__, path, one, other)
            yield Difference(plan.name, index, step, path, one, other, known)
    for path, one, other in _unequal(real.logs, scripted.logs, ""):
        yield Difference(plan.name, len(plan.steps), None, path, one, other, reason("log", path, one, other))


def _unequal(left: Plain, right: Plain, path: str) -> Iterator[tuple[str, Plain, Plain]]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in (*left, *(key for key in right if key not in left)):
            yield from _unequal(left.get(key, _ABSENT), right.get(key, _ABSENT), f"{path}.{key}".lstrip("."))
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from _unequal(one, other, f"{path}.{index}".lstrip("."))
    elif left != right:
        yield path, left, right
