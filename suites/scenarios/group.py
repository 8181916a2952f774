"""Groups whose members come, go, die, freeze and are slow, while the harness writes what they read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from harness.model.dice import Dice
from harness.model.spec import AtTime, FaultSpec, Workload
from harness.model.verdicts import Guarantee
from suites.scenarios.effects import members
from suites.scenarios.situation import Schedule, situation

READ: Final = Workload(kind="consume", records=2_400, records_per_command=60, params={"members": 2})
GUARANTEES: Final = (Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE)

_scenario = partial(situation, "group", workload=READ, guarantees=GUARANTEES)


def _once(kind: str, duration_ms: tuple[int, int], draw: Callable[[Dice], dict[str, int]]) -> Schedule:
    """Return a schedule with one fault that begins within the first second and a half."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        return (FaultSpec(kind, AtTime(dice.between(400, 1_500)), dice.between(*duration_ms), draw(dice)),)

    return drawn


def _either(dice: Dice) -> dict[str, int]:
    return {"member": dice.between(1, 2)}


JOIN = _scenario(
    "join",
    "A third member joins, reads for four seconds, and leaves.",
    _once("member_join", (4_000, 5_000), lambda dice: {}),
    members.moved,
    "E2E-DEL-04",
    "CSM-FET-02",
    "CSM-OFC-06",
)

KILL = _scenario(
    "kill",
    "One of two members is killed, and its successor joins later.",
    _once("member_kill", (1_500, 2_500), _either),
    members.moved,
    "E2E-DEL-04",
    "CSM-FET-02",
    "CSM-OFC-06",
)

LEAVE = _scenario(
    "leave",
    "One of two members closes, and its successor joins later.",
    _once("member_leave", (1_500, 2_500), _either),
    members.moved,
    "E2E-DEL-04",
    "CSM-FET-02",
    "CSM-OFC-06",
)

FREEZE = _scenario(
    "freeze",
    "One of two members is stopped for longer than its session lasts, and then continued.",
    _once("member_freeze", (8_000, 9_000), _either),
    members.moved,
    "E2E-DEL-04",
    "CSM-FET-02",
    "CSM-OFC-06",
)

SLOW_PROCESSING = _scenario(
    "slow-processing",
    "One of two members works a second on each turn, which is less than it may.",
    _once("slow_processing", (4_000, 5_000), lambda dice: {**_either(dice), "processing_ms": 1_000}),
    members.slow_turns,
    "E2E-DEL-04",
    "CSM-FET-02",
    "CSM-OFC-06",
)

LATE_POLL = _scenario(
    "late-poll",
    "One of two members works longer than max.poll.interval.ms on one turn.",
    _once("slow_processing", (6_000, 7_000), lambda dice: {**_either(dice), "processing_ms": 7_000}),
    members.moved,
    "E2E-DEL-04",
    "CSM-FET-02",
    "CSM-OFC-06",
    config={"max.poll.interval.ms": 5_000},
)
