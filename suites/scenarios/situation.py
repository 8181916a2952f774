"""How a scenario is declared: its topic and name, its faults, how they show, and the behaviours that it covers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from harness.model.dice import Dice
from harness.model.evidence import Evidence
from harness.model.spec import FaultSpec
from harness.plugins.scenario import Consequence, Scenario

Schedule = Callable[[Dice], tuple[FaultSpec, ...]]

NODES: Final = (1, 2, 3)
#: Lost requests are sent again: stored at least once, or exactly once, and never without a reason.
AGAIN: Final = ("PRD-SND-06", "E2E-DEL-01", "E2E-DEL-02", "E2E-DEL-03")


def situation(
    topic: str,
    name: str,
    summary: str,
    schedule: Schedule,
    shows_by: Callable[[Evidence], Consequence],
    *exercises: str,
    **settings: Any,
) -> Scenario:
    """Return the scenario ``topic/name`` for the behaviour ids ``exercises``. ``settings`` are its other fields."""
    return Scenario(f"{topic}/{name}", summary, schedule, shows_by, exercises, **settings)
