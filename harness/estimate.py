"""Interim placeholder of the lead until the real module is written over it."""

from __future__ import annotations

from dataclasses import dataclass

from harness.spec import Plan, TrialSpec


@dataclass(frozen=True)
class Estimate:
    """How long a plan takes."""

    seconds: float
    sentence: str


def of(plan: Plan, jobs: int) -> Estimate:
    """How long ``plan`` takes with ``jobs`` at a time."""
    seconds = len(plan.trials) * 12 / jobs
    return Estimate(seconds, f"about {seconds:.0f} s")


def trial_s(spec: TrialSpec) -> float:
    """How long one trial takes."""
    return 5.0 + spec.workload.load_ms / 1000
