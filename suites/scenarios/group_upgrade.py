"""Groups that are upgraded while they are in use: their members are restarted one by one, with other settings.

From eager to cooperative in two rounds, as the upgrade notes of Kafka 2.4 and KIP-429 say: first the cooperative
assignor is added, and then the old one is left out. Members rebalance eagerly until the second round, and during it the
group has both kinds. From the classic protocol to KIP-848 in one round: the coordinator converts the group when the
first such member joins, and back when the last one has left.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from harness.model.dice import Dice
from harness.model.spec import AtTime, FaultSpec, Workload
from harness.plugins.scenario import Config
from suites.scenarios.consume import READING
from suites.scenarios.effects import members
from suites.scenarios.group import COOPERATIVE, GUARANTEES, NEW_PROTOCOL
from suites.scenarios.situation import Schedule, situation

MEMBERS: Final = 3
#: From one restart to the next: the start of a process and two rebalances have to fit.
STEP_MS: Final = 8_000
INTERVAL_MS: Final = 400
#: The settings of the first round. Members prefer the new assignor, and the group uses the old one until all know both.
BOTH: Final[Config] = {"partition.assignment.strategy": "cooperative-sticky,range"}


def _round_by_round(rounds: int) -> Schedule:
    """Return a schedule that restarts the oldest member again and again, so that each has its turn in every round."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        return tuple(
            FaultSpec(
                "member_leave",
                AtTime(1_000 + step * STEP_MS + dice.between(0, 500)),
                dice.between(100, 1_000),
                {"member": 1},
            )
            for step in range(rounds * MEMBERS)
        )

    return drawn


def _load(rounds: int) -> Workload:
    steps = (rounds * MEMBERS + 1) * STEP_MS // INTERVAL_MS
    return Workload(
        kind="consume",
        records=steps * 12,
        records_per_command=12,
        interval_ms=INTERVAL_MS,
        partitions=6,
        params={"members": MEMBERS},
    )


_scenario = partial(situation, "group", guarantees=GUARANTEES)

EAGER_TO_COOPERATIVE = _scenario(
    "upgrade-cooperative",
    "Members with the range assignor are restarted one by one, first with both assignors and then as cooperative ones.",
    _round_by_round(2),
    members.upgraded,
    *READING,
    workload=_load(2),
    upgrades=(BOTH, COOPERATIVE),
)

CLASSIC_TO_NEW_PROTOCOL = _scenario(
    "upgrade-new-protocol",
    "Members of the classic protocol are restarted one by one with that of KIP-848.",
    _round_by_round(1),
    members.upgraded,
    *READING,
    workload=_load(1),
    upgrades=(NEW_PROTOCOL,),
)

COOPERATIVE_TO_NEW_PROTOCOL = _scenario(
    "upgrade-new-protocol-cooperative",
    "Cooperative members of the classic protocol are restarted one by one with that of KIP-848.",
    _round_by_round(1),
    members.upgraded,
    *READING,
    workload=_load(1),
    config=COOPERATIVE,
    upgrades=(NEW_PROTOCOL,),
)

NEW_PROTOCOL_AND_BACK = _scenario(
    "upgrade-rolled-back",
    "Members of the classic protocol are restarted one by one with that of KIP-848, and then as they were.",
    _round_by_round(2),
    members.upgraded,
    *READING,
    workload=_load(2),
    upgrades=(NEW_PROTOCOL, {}),
)
