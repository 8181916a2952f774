"""Trials drawn by Hypothesis: the vocabulary of generated/any, with choices that shrink.

Hypothesis decides the same functions that a seed's dice decide, so that both draw from the same set of trials. A trial
that breaks a promise is shrunk choice by choice, and is a plan that can be run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from hypothesis import strategies as st

from clients.adapters.reference import project_version
from harness.model.dice import Dice
from harness.model.spec import ClientRef, FaultSpec, TrialSpec
from harness.model.verdicts import Guarantee
from harness.planning.plan import make_plan
from harness.plugins import registry
from harness.simulated.generated import BROKER_VERSION, NODES, spec_of
from suites.scenarios.generated import ANY_SCENARIO

T = TypeVar("T")

REFERENCE = ClientRef("reference", project_version())


class DrawnDice(Dice):
    """Dice whose numbers Hypothesis chooses. The lowest number and the first option are the simplest."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def between(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def choice(self, options: Sequence[T]) -> T:
        return self._draw(st.sampled_from(options))


@st.composite
def trials(draw: st.DrawFn, guarantee: Guarantee) -> TrialSpec:
    """Draw a trial of generated/any under ``guarantee`` on one to three nodes."""
    dice = DrawnDice(draw)
    scenario = replace(
        ANY_SCENARIO,
        guarantees=(guarantee,),
        schedule=lambda _: _fewer(draw, ANY_SCENARIO.schedule(dice)),
        draw_config=lambda _: ANY_SCENARIO.draw_config(dice) if ANY_SCENARIO.draw_config else {},
        draw_workload=lambda _: (
            ANY_SCENARIO.draw_workload(dice) if ANY_SCENARIO.draw_workload else ANY_SCENARIO.workload
        ),
    )
    broker = f"scripted:{BROKER_VERSION}x{draw(st.integers(*NODES))}"
    seed = draw(st.integers(0, 999))
    [spec] = make_plan([scenario], [REFERENCE], [broker], [seed]).trials
    return spec


def brought_about(scenario: str, guarantee: Guarantee) -> TrialSpec:
    """Return the trial of a named scenario, which produces its situation with any seed."""
    return spec_of(replace(registry.scenario(scenario), guarantees=(guarantee,)), REFERENCE, 0)


def _fewer(draw: st.DrawFn, faults: tuple[FaultSpec, ...]) -> tuple[FaultSpec, ...]:
    """Return all of the faults, or only some of them while a failure is shrunk."""
    kept = tuple(fault for fault in faults if draw(st.integers(0, 7)) or len(faults) == 1)
    return kept or faults[:1]
