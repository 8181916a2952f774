"""Consuming while connections are cut: a group reads what the harness writes meanwhile."""

from __future__ import annotations

from functools import partial
from typing import Final

from harness.model.dice import Dice
from harness.model.spec import FaultSpec, OnFrame, Workload
from harness.model.verdicts import Guarantee
from suites.scenarios.effects import members
from suites.scenarios.situation import situation

READ: Final = Workload(kind="consume", records=1_200, records_per_command=40, params={"members": 2})
MOMENTS_MS: Final = (400, 1_800, 3_000)
GUARANTEES: Final = (Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE)

_scenario = partial(situation, "consume", workload=READ, guarantees=GUARANTEES)


def _cuts(dice: Dice) -> tuple[FaultSpec, ...]:
    """Return three cuts, each at a Fetch request."""
    return tuple(
        FaultSpec(
            "disconnect",
            OnFrame("Fetch", "request", nth=1, after_ms=at_ms + dice.between(0, 300)),
            dice.between(300, 600),
        )
        for at_ms in (400, 1_800, 3_000)
    )


DISCONNECT = _scenario(
    "disconnect",
    "Three times all connections end for half a second, while two members read.",
    _cuts,
    members.cut_off,
    "E2E-DEL-04",
    "CSM-FET-02",
    "CSM-OFC-06",
)
