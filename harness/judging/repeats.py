"""Run the same trial several times, to measure how often a client fails. Pure.

An attempt is a separate trial with its own evidence and verdict, so that a later pass never hides an earlier failure.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from harness.model.rows import TrialVerdict
from harness.model.spec import Plan, TrialSpec
from harness.model.verdicts import Verdict

#: The verdicts that are tried again. A maintainer first wants to know how often a failure occurs.
ACCUSATIONS = frozenset({Verdict.FAIL, Verdict.UNEXPECTED_PASS})


def first_name(spec: TrialSpec) -> str:
    """Return the name of the first attempt at the trial of ``spec``."""
    return spec.trial.removesuffix(_suffix(spec.attempt))


def attempt_of(spec: TrialSpec, attempt: int) -> TrialSpec:
    """Return ``spec`` as its ``attempt``-th attempt (from 1)."""
    return replace(spec, trial=f"{first_name(spec)}{_suffix(attempt)}", attempt=attempt)


def repeated(plan: Plan, times: int) -> Plan:
    """Return the plan with every trial ``times`` times: all first attempts, then all second ones, and so on."""
    again = (attempt_of(spec, attempt) for attempt in range(1, times + 1) for spec in plan.trials)
    return replace(plan, trials=tuple(again))


def deflaked(plan: Plan, verdicts: Iterable[TrialVerdict], times: int) -> Plan:
    """Return the plan with failing trials repeated until each has ``times`` attempts."""
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
    """Return part ``number`` (from 1) of ``of``. The parts are disjoint, complete, and of similar size."""
    return replace(plan, trials=plan.trials[number - 1 :: of])


def _suffix(attempt: int) -> str:
    return "" if attempt == 1 else f"-again{attempt}"
