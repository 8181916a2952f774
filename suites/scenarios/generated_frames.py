"""Random schedules of faults on single frames: any request or answer lost, late, torn or duplicated.

Whatever happens to frames, no broker misreports anything, so every promise still holds. The first fault meets
a Produce frame, so that every schedule proves something about a producer. The others may meet any of its
requests to brokers, from the first one on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from harness.model.dice import Dice
from harness.model.spec import AtTime, FaultSpec, FrameMatch, OnPhase, Trigger
from harness.planning.fault_strategies import unlike
from harness.plugins.scenario import Scenario
from suites.scenarios.drawn import (
    ANYTHING,
    FAULTS,
    GUARANTEES,
    SHORT_LOAD_MS,
    any_batching,
    any_workload,
)
from suites.scenarios.effects import consequence

APIS = ("Produce", "Produce", "Produce", "Metadata", "ApiVersions", "InitProducerId")
DIRECTIONS = ("request", "response")
#: Which of the matching frames: the higher the number, the likelier that there is none.
FIRST, COUNT = (1, 4), (1, 3)
#: Two of the bursts in which records are sent begin within this time.
SURE_MS, LONGEST_MS = 3_000, 9_000
#: In the size field, in the correlation id, in the rest, and right after the frame.
TORN_AT = (0, 1, 3, 4, 7, 11, 40, -1)

Params = Callable[[Dice], dict[str, int]]

KINDS: Mapping[str, tuple[tuple[str, ...], Params]] = {
    "close_at_frame": (
        DIRECTIONS,
        lambda dice: {"at_byte": dice.choice(TORN_AT), "reset": dice.between(0, 1)},
    ),
    "dropped_frame": (DIRECTIONS, lambda dice: {"end": dice.between(0, 2)}),
    "duplicated_response": (("response",), lambda _: {}),
    "held_frame": (DIRECTIONS, lambda _: {}),
    "late_frame": (DIRECTIONS, lambda dice: {"delay_ms": dice.choice((1, 100, 1_000, 3_500, 5_000))}),
    "sliced_frame": (
        DIRECTIONS,
        lambda dice: {"size_bytes": dice.choice((1, 3, 40)), "gap_us": dice.choice((0, 100, 2_000))},
    ),
    "swapped_responses": (("response",), lambda _: {}),
    "wrong_correlation_id": (("response",), lambda _: {}),
}


def _schedule(dice: Dice) -> tuple[FaultSpec, ...]:
    sure = _fault(dice, AtTime(dice.between(0, SHORT_LOAD_MS // 2)), ("Produce",), (1, 1), SURE_MS)
    more = (_fault(dice, _start(dice), APIS, FIRST, 0) for _ in range(dice.choice(FAULTS) - 1))
    return unlike((sure, *more))


def _start(dice: Dice) -> Trigger:
    if dice.between(0, 2) == 0:
        return OnPhase("startup")
    return AtTime(dice.between(0, SHORT_LOAD_MS // 2))


def _fault(
    dice: Dice, start: Trigger, apis: tuple[str, ...], first: tuple[int, int], least_ms: int
) -> FaultSpec:
    kind = dice.choice(sorted(KINDS))
    directions, params = KINDS[kind]
    # Of consecutive answers that are each to follow the next one, only the last can.
    count = 1 if kind == "swapped_responses" else dice.between(*COUNT)
    match = FrameMatch(dice.choice(apis), dice.choice(directions), dice.between(*first), count)
    return FaultSpec(kind, start, dice.between(least_ms, LONGEST_MS), params(dice), frames=match)


SCENARIO = Scenario(
    name="generated/frames",
    summary="Two to six faults on single frames, requests or answers of any kind, which may overlap.",
    schedule=_schedule,
    consequence=consequence.hit,
    exercises=(*ANYTHING, "NET-TMO-01", "NET-INF-06"),
    guarantees=GUARANTEES,
    draw_config=any_batching,
    draw_workload=any_workload(SHORT_LOAD_MS),
    require_all_faults=False,
    opt_in=True,
)
