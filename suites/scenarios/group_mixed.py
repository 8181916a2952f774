"""Groups with members of several clients, which must agree on an assignor and on who owns what.

The client under test has one place. The others are those of companions, at their default versions. Members leave, join
and die one after the other, twenty changes in all, and each time the group has time to settle: a leaving member is
replaced after some seconds, and a killed one only when its session has ended.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from harness.model.dice import Dice
from harness.model.mode import LIVE_ONLY
from harness.model.spec import AtTime, FaultSpec, Workload
from harness.model.verdicts import Guarantee
from suites.scenarios.consume import READING
from suites.scenarios.effects import members
from suites.scenarios.group import COOPERATIVE
from suites.scenarios.situation import situation

#: Each fault changes the members twice: when it begins, and when it ends.
FAULTS: Final = 10
#: Kind -> how long it lasts, in ms. The group can settle in it, for which a killed member's session must end first.
KINDS: Final = {"member_join": 10_000, "member_leave": 10_000, "member_kill": 15_000}
#: How long the group has to settle after each fault, the start of a process included.
REST_MS: Final = 12_000
PLACES: Final = 4
INTERVAL_MS: Final = 600
LONGEST_MS: Final = FAULTS * (max(KINDS.values()) + REST_MS)


def _twenty_changes(dice: Dice) -> tuple[FaultSpec, ...]:
    at_ms, faults = 1_000, []
    for _ in range(FAULTS):
        kind = dice.choice(tuple(KINDS))
        params = {} if kind == "member_join" else {"member": dice.between(1, PLACES)}
        faults.append(FaultSpec(kind, AtTime(at_ms), KINDS[kind], params))
        at_ms += KINDS[kind] + REST_MS
    return tuple(faults)


_scenario = partial(
    situation,
    "group",
    workload=Workload(
        kind="consume",
        records=LONGEST_MS // INTERVAL_MS * 12,
        records_per_command=12,
        interval_ms=INTERVAL_MS,
        partitions=6,
        params={"members": 1},
    ),
    guarantees=(Guarantee.AT_LEAST_ONCE,),
    modes=LIVE_ONLY,
    opt_in=True,
)

RANGE = _scenario(
    "mixed-range",
    "Members of several clients share a group with the range assignor, and its members change twenty times.",
    _twenty_changes,
    members.settled,
    *READING,
    companions=("java", "confluent-kafka", "reference"),
)

COOPERATIVE_STICKY = _scenario(
    "mixed-cooperative",
    "Members of several clients share a cooperative-sticky group, and its members change twenty times.",
    _twenty_changes,
    members.settled,
    *READING,
    config=COOPERATIVE,
    companions=("java", "confluent-kafka", "franz-go", "reference"),
)
