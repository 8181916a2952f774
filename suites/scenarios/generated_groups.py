"""Random schedules of a group: members come, go, die, freeze and are slow, and its coordinator moves.

Everything is drawn from the scenario's own random streams, so a seed determines a schedule. A group begins with one to
five members, which share one to six partitions. Most faults act on members, because the network and single frames have
scenarios of their own; a trial with a move of the coordinator has its cluster to itself. Every fault leaves the group
able to deliver everything. The first one meets a group that has gathered, and each ends soon enough that a trial takes
about twenty seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from harness.model.dice import Dice
from harness.model.spec import AtTime, FaultSpec, Workload
from harness.planning.fault_strategies import unlike
from harness.plugins.scenario import Config, Scenario
from suites.scenarios.consume import GUARANTEES, READING
from suites.scenarios.drawn import FAULTS
from suites.scenarios.effects import consequence
from suites.scenarios.group import NEW_PROTOCOL

#: How many commands write the records, and how many records each writes.
COMMANDS, PER_COMMAND = (40, 55), (10, 40)
INTERVAL_MS: Final = 150
#: Faults begin within the shortest load.
SHORTEST_MS: Final = COMMANDS[0] * INTERVAL_MS
MEMBERS, PARTITIONS = (1, 5), (1, 6)
ASSIGNORS: Final = ("range", "roundrobin", "sticky", "cooperative-sticky")

Params = Callable[[Dice], dict[str, int]]


def _none(_: Dice) -> dict[str, int]:
    return {}


def _any_member(dice: Dice) -> dict[str, int]:
    return {"member": dice.between(*MEMBERS)}


def _slow(dice: Dice) -> dict[str, int]:
    # Shorter and longer than the least max.poll.interval.ms.
    return {**_any_member(dice), "processing_ms": dice.choice((200, 1_000, 3_000, 8_000))}


def _throws(dice: Dice) -> dict[str, int]:
    return {**_any_member(dice), "callback": dice.between(0, 2)}


#: Kind -> how likely it is, the range of its duration in ms, and its parameters.
KINDS: Final[Mapping[str, tuple[int, tuple[int, int], Params]]] = {
    "member_join": (4, (500, 6_000), _none),
    "member_kill": (4, (0, 5_000), _any_member),
    "member_leave": (2, (0, 5_000), _any_member),
    # Shorter and longer than the session timeout of six seconds.
    "member_freeze": (3, (1_000, 9_000), _any_member),
    "slow_processing": (2, (1_000, 6_000), _slow),
    "wakeup": (1, (0, 0), lambda dice: {**_any_member(dice), "times": dice.between(1, 5)}),
    "listener_throws": (1, (1_000, 6_000), _throws),
    "disconnect": (1, (0, 1_500), _none),
    "coordinator_move": (1, (0, 2_000), _none),
}
#: Kinds that always show, whatever else happens.
SURE: Final = ("member_join", "member_kill", "member_leave")
_WEIGHED: Final = tuple(kind for kind, (weight, *_) in KINDS.items() for _ in range(weight))


def _schedule(dice: Dice) -> tuple[FaultSpec, ...]:
    more = (_fault(dice, dice.choice(_WEIGHED)) for _ in range(dice.choice(FAULTS) - 1))
    return unlike((_fault(dice, dice.choice(SURE)), *more))


def _fault(dice: Dice, kind: str) -> FaultSpec:
    _, duration_ms, params = KINDS[kind]
    return FaultSpec(kind, AtTime(dice.between(0, SHORTEST_MS)), dice.between(*duration_ms), params(dice))


def _workload(dice: Dice, *, may_be_static: bool) -> Workload:
    per_command = dice.between(*PER_COMMAND)
    return Workload(
        kind="consume",
        records=per_command * dice.between(*COMMANDS),
        records_per_command=per_command,
        interval_ms=INTERVAL_MS,
        partitions=dice.between(*PARTITIONS),
        params={
            "members": dice.between(*MEMBERS),
            "processing_ms": dice.choice((0, 0, 5)),
            "commit_async": dice.choice((0, 0, 1)),
            "static": dice.choice((0, 0, int(may_be_static))),
        },
    )


def _any_config(dice: Dice) -> Config:
    return {
        "fetch.min.bytes": dice.choice((1, 1, 4_096)),
        "max.poll.interval.ms": dice.choice((6_000, 10_000, 10_000)),
        "max.poll.records": dice.choice((1, 10, 100, 500)),
    }


def _classic_config(dice: Dice) -> Config:
    return {**_any_config(dice), "partition.assignment.strategy": dice.choice(ASSIGNORS)}


_scenario = partial(
    Scenario,
    exercises=READING,
    schedule=_schedule,
    consequence=consequence.hit,
    guarantees=GUARANTEES,
    workload=Workload(kind="consume"),
    require_all_faults=False,
    opt_in=True,
)

CLASSIC = _scenario(
    name="generated/group",
    summary="One to five members of a classic group, with two to six changes of its members or its coordinator.",
    config={"group.protocol": "classic"},
    draw_config=_classic_config,
    draw_workload=partial(_workload, may_be_static=True),
)

NEW = _scenario(
    name="generated/group-new-protocol",
    summary="One to five members of a KIP-848 group, with two to six changes of its members or its coordinator.",
    config=NEW_PROTOCOL,
    draw_config=_any_config,
    # The coordinator keeps the place of a killed static member for a session, and its successor ends with an error.
    draw_workload=partial(_workload, may_be_static=False),
)
