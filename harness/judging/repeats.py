"""The same trial several times: how often a client fails is a figure, and one attempt gives none.

An attempt is a trial of its own, with evidence and verdict of its own, so that nothing that passes later hides what
failed before. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from harness.model.rows import TrialVerdict
from harness.model.spec import Plan, TrialSpec
from harness.model.verdicts import Verdict

#: What is tried again: an accusation. How often it comes back is what a maintainer wants to know first.
ACCUSATIONS = frozenset({Verdict.FAIL, Verdict.UNEXPECTED_PASS})


def first_name(spec: TrialSpec) -> str:
    """The name of the first attempt at what ``spec`` tries."""
    return spec.trial.removesuffix(_suffix(spec.attempt))


def attempt_of(spec: TrialSpec, attempt: int) -> TrialSpec:
    """``spec`` as its ``attempt``-th attempt (from 1)."""
    return replace(spec, trial=f"{first_name(spec)}{_suffix(attempt)}", attempt=attempt)


def repeated(plan: Plan, times: int) -> Plan:
    """Every trial of the plan ``times`` times: all first attempts, then all second ones, and so on."""
    again = (attempt_of(spec, attempt) for attempt in range(1, times + 1) for spec in plan.trials)
    return replace(plan, trials=tuple(again))


def deflaked(plan: Plan, verdicts: Iterable[TrialVerdict], times: int) -> Plan:
    """The plan, and what it accuses tried until it has been tried ``times`` times; a larger plan or the same."""
    accused = {verdict.trial for verdict in verdicts if verdict.verdict in ACCUSATIONS}
    known = {spec.trial for spec in plan.trials}
    again = (
        attempt_of(spec, attempt)
        for attempt in range(2, times + 1)
        for spec in plan.trials
        if spec.trial in accused and spec.attempt == 1
    )
    return replace(plan, trials=(*plan.trials, *(spec for spec in again if spec.trial not in known)))


def shard(plan: Plan, number: int, of: int) -> Plan:
    """Part ``number`` (from 1) of ``of``: disjoint, all trials in one of them, alike in size."""
    return replace(plan, trials=plan.trials[number - 1 :: of])


def _suffix(attempt: int) -> str:
    return "" if attempt == 1 else f"-again{attempt}"
