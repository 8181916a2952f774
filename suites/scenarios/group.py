"""Groups whose members come, go, die, freeze and are slow, while the harness writes what they read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec.structs import replace

from harness.model.dice import Dice
from harness.model.spec import AtTime, FaultSpec, Workload
from harness.model.verdicts import Guarantee
from harness.plugins.scenario import Config
from suites.scenarios.consume import READING
from suites.scenarios.effects import members
from suites.scenarios.situation import Schedule, situation

READ: Final = Workload(kind="consume", records=2_400, records_per_command=60, params={"members": 2})
#: Enough partitions that each member gives one up when another one joins.
SIX: Final = Workload(
    kind="consume",
    records=2_400,
    records_per_command=60,
    interval_ms=500,
    partitions=6,
    params={"members": 2},
)
STATIC: Final = Workload(
    kind="consume", records=2_400, records_per_command=60, params={"members": 2, "static": 1}
)
#: A load that lasts until a member that had to leave is back, or for a slow rebalance and some time more.
LONG: Final = Workload(
    kind="consume", records=3_600, records_per_command=60, interval_ms=330, params={"members": 2}
)
LONG_STATIC: Final = replace(LONG, params={"members": 2, "static": 1})
#: Beyond the profile's request.timeout.ms of 3 s, and the time that a process takes to start.
WORK_MS: Final = 12_000
#: With it, a member may work for so long.
PATIENT: Final[Config] = {"max.poll.interval.ms": 15_000}
#: With it, a member may not work for 8 seconds. librdkafka accepts no less than session.timeout.ms.
IMPATIENT: Final[Config] = {"max.poll.interval.ms": 6_000}
GUARANTEES: Final = (Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE)
#: The group whose members give up only the partitions that go to others.
COOPERATIVE: Final[Config] = {"partition.assignment.strategy": "cooperative-sticky"}
#: The group whose coordinator assigns (KIP-848).
NEW_PROTOCOL: Final[Config] = {"group.protocol": "consumer"}

_scenario = partial(situation, "group", workload=READ, guarantees=GUARANTEES)


def _once(kind: str, duration_ms: tuple[int, int], draw: Callable[[Dice], dict[str, int]]) -> Schedule:
    """Return a schedule with one fault that begins within the first second and a half."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        return (FaultSpec(kind, AtTime(dice.between(400, 1_500)), dice.between(*duration_ms), draw(dice)),)

    return drawn


def _join_with(kind: str, lasts_ms: int = 5_000, **params: int) -> Schedule:
    """Return a schedule in which a fault acts on the first member while another one joins."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        at_ms = dice.between(400, 900)
        return (
            FaultSpec(kind, AtTime(at_ms), lasts_ms, params),
            FaultSpec("member_join", AtTime(at_ms + 200), dice.between(lasts_ms - 1_000, lasts_ms)),
        )

    return drawn


def _join_beside_work(*more: FaultSpec) -> Schedule:
    """Return a schedule in which another member joins while the first one works on a turn, with ``more`` faults."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        at_ms = dice.between(400, 900)
        return (
            FaultSpec("slow_processing", AtTime(at_ms), 5_000, {"member": 1, "processing_ms": WORK_MS}),
            FaultSpec("member_join", AtTime(at_ms + 400), dice.between(14_500, 15_500)),
            *more,
        )

    return drawn


def _leave_with(kind: str, **params: int) -> Schedule:
    """Return a schedule in which a fault acts on the first member while the other closes, and its successor joins."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        at_ms = dice.between(400, 900)
        return (
            FaultSpec(kind, AtTime(at_ms), 8_000, params),
            FaultSpec("member_leave", AtTime(at_ms + 500), dice.between(3_000, 4_000), {"member": 2}),
        )

    return drawn


def _either(dice: Dice) -> dict[str, int]:
    return {"member": dice.between(1, 2)}


JOIN = _scenario(
    "join",
    "A third member joins, reads for four seconds, and leaves.",
    _once("member_join", (4_000, 5_000), lambda dice: {}),
    members.moved,
    *READING,
)

KILL = _scenario(
    "kill",
    "One of two members is killed, and its successor joins later.",
    _once("member_kill", (1_500, 2_500), _either),
    members.moved,
    *READING,
)

LEAVE = _scenario(
    "leave",
    "One of two members closes, and its successor joins later.",
    _once("member_leave", (1_500, 2_500), _either),
    members.moved,
    *READING,
)

FREEZE = _scenario(
    "freeze",
    "One of two members is stopped for longer than its session lasts, and then continued.",
    _once("member_freeze", (8_000, 9_000), _either),
    members.moved,
    *READING,
)

SLOW_PROCESSING = _scenario(
    "slow-processing",
    "One of two members works a second on each turn, which is less than it may.",
    _once("slow_processing", (4_000, 5_000), lambda dice: {**_either(dice), "processing_ms": 1_000}),
    members.slow_turns,
    *READING,
)

LONG_PROCESSING = _scenario(
    "long-processing",
    "One of two members works longer than its session lasts on each turn, but no longer than it may.",
    _once("slow_processing", (14_000, 15_000), lambda dice: {**_either(dice), "processing_ms": 8_000}),
    members.slow_turns,
    *READING,
    config=PATIENT,
)

LONG_PROCESSING_NEW_PROTOCOL = _scenario(
    "long-processing-new-protocol",
    "One of two members works longer than its session lasts on each turn, in a group whose coordinator assigns.",
    _once("slow_processing", (14_000, 15_000), lambda dice: {**_either(dice), "processing_ms": 8_000}),
    members.slow_turns,
    *READING,
    config={**NEW_PROTOCOL, "max.poll.interval.ms": 15_000},
)

LATE_POLL = _scenario(
    "late-poll",
    "One of two members works longer than max.poll.interval.ms on one turn.",
    _once("slow_processing", (7_000, 8_000), lambda dice: {**_either(dice), "processing_ms": 8_000}),
    members.slow_turns,
    *READING,
    config=IMPATIENT,
    workload=LONG,
)

LATE_POLL_STATIC = _scenario(
    "late-poll-static",
    "One of two static members works longer than max.poll.interval.ms on one turn.",
    _once("slow_processing", (7_000, 8_000), lambda dice: {**_either(dice), "processing_ms": 13_000}),
    members.slow_turns,
    *READING,
    config=IMPATIENT,
    workload=LONG_STATIC,
)

LATE_POLL_NEW_PROTOCOL = _scenario(
    "late-poll-new-protocol",
    "One of two members works longer than max.poll.interval.ms on one turn, in a group whose coordinator assigns.",
    _once("slow_processing", (7_000, 8_000), lambda dice: {**_either(dice), "processing_ms": 8_000}),
    members.moved,
    *READING,
    config={**NEW_PROTOCOL, "max.poll.interval.ms": 6_000},
    workload=LONG,
)

JOIN_COOPERATIVE = _scenario(
    "join-cooperative",
    "A third member joins a group of cooperative-sticky members, and leaves.",
    _once("member_join", (4_000, 5_000), lambda dice: {}),
    members.moved,
    *READING,
    config=COOPERATIVE,
)

JOIN_NEW_PROTOCOL = _scenario(
    "join-new-protocol",
    "A third member joins a group whose coordinator assigns, and leaves.",
    _once("member_join", (4_000, 5_000), lambda dice: {}),
    members.moved,
    *READING,
    config=NEW_PROTOCOL,
)

JOIN_NEW_PROTOCOL_AUTO_COMMIT = _scenario(
    "join-new-protocol-auto-commit",
    "A third member joins a group whose coordinator assigns and whose clients commit, and leaves.",
    _once("member_join", (4_000, 5_000), lambda dice: {}),
    members.moved,
    *READING,
    config={**NEW_PROTOCOL, "enable.auto.commit": True},
    guarantees=(Guarantee.AT_LEAST_ONCE,),
)

KILL_COOPERATIVE = _scenario(
    "kill-cooperative",
    "One of two cooperative-sticky members is killed, and its successor joins later.",
    _once("member_kill", (1_500, 2_500), _either),
    members.moved,
    *READING,
    config=COOPERATIVE,
)

KILL_NEW_PROTOCOL = _scenario(
    "kill-new-protocol",
    "One of two members is killed in a group whose coordinator assigns, and its successor joins later.",
    _once("member_kill", (1_500, 2_500), _either),
    members.moved,
    *READING,
    config=NEW_PROTOCOL,
)

KILL_STATIC = _scenario(
    "kill-static",
    "One of two static members is killed, and its successor takes its place before the session ends.",
    _once("member_kill", (1_500, 2_500), _either),
    members.moved,
    *READING,
    # With KIP-848 the coordinator keeps its place for a session, and the successor ends with an error.
    config={"group.protocol": "classic"},
    workload=STATIC,
)

KILL_AUTO_COMMIT = _scenario(
    "kill-auto-commit",
    "One of two members whose clients commit is killed, and its successor joins later.",
    _once("member_kill", (1_500, 2_500), _either),
    members.moved,
    *READING,
    config={"enable.auto.commit": True},
    guarantees=(Guarantee.AT_LEAST_ONCE,),
)

LEAVE_STATIC = _scenario(
    "leave-static",
    "One of two static members closes without leaving the group, and its successor takes its place.",
    _once("member_leave", (1_500, 2_500), _either),
    members.moved,
    *READING,
    workload=STATIC,
)

LEAVE_AUTO_COMMIT = _scenario(
    "leave-auto-commit",
    "One of two members whose clients commit closes, and its successor joins later.",
    _once("member_leave", (1_500, 2_500), _either),
    members.moved,
    *READING,
    config={"enable.auto.commit": True},
    guarantees=(Guarantee.AT_LEAST_ONCE,),
)

FREEZE_STATIC = _scenario(
    "freeze-static",
    "One of two static members is stopped for longer than its session lasts, and then continued.",
    _once("member_freeze", (8_000, 9_000), _either),
    members.moved,
    *READING,
    workload=STATIC,
)

FREEZE_SHORTLY = _scenario(
    "freeze-shortly",
    "One of two members is stopped for less than its session lasts, and then continued: it keeps its partitions.",
    _once("member_freeze", (4_000, 4_500), _either),
    members.held_up,
    *READING,
)

SLOW_REBALANCE = _scenario(
    "slow-rebalance",
    "A third member joins while another one works on a turn, and waits for it longer than request.timeout.ms.",
    _join_beside_work(),
    members.moved,
    *READING,
    config=PATIENT,
    workload=LONG,
)

WAKEUP_WHILE_JOINING = _scenario(
    "wakeup-while-joining",
    "Members wait for one that works on a turn, and another thread interrupts the poll of one of them.",
    _join_beside_work(FaultSpec("wakeup", AtTime(8_000), 300, {"member": 2, "times": 3})),
    members.interrupted,
    *READING,
    config=PATIENT,
    workload=LONG,
)

LISTENER_THROWS_REVOKED = _scenario(
    "listener-throws-revoked",
    "A third member joins, and the listener of another one throws when its partitions are revoked.",
    _join_with("listener_throws", member=1, callback=1),
    members.interrupted,
    *READING,
    workload=LONG,
)

LISTENER_THROWS_ASSIGNED = _scenario(
    "listener-throws-assigned",
    "A third member joins, and the listener of another one throws when it is assigned partitions.",
    _join_with("listener_throws", member=1, callback=0),
    members.interrupted,
    *READING,
    workload=LONG,
)

LISTENER_THROWS_REVOKED_NEW_PROTOCOL = _scenario(
    "listener-throws-revoked-new-protocol",
    "With KIP-848, a third member joins, and the listener of another one throws when its partitions are revoked.",
    _join_with("listener_throws", 15_000, member=1, callback=1),
    members.interrupted,
    *READING,
    config=NEW_PROTOCOL,
    workload=SIX,
)

LISTENER_THROWS_ASSIGNED_NEW_PROTOCOL = _scenario(
    "listener-throws-assigned-new-protocol",
    "With KIP-848, one of two members closes, and the listener of the other throws when it is assigned partitions.",
    _leave_with("listener_throws", member=1, callback=0),
    members.interrupted,
    *READING,
    config=NEW_PROTOCOL,
    workload=SIX,
)

WAKEUP = _scenario(
    "wakeup",
    "Ten times another thread interrupts the poll of a member.",
    _once("wakeup", (200, 300), lambda dice: {**_either(dice), "times": 10}),
    members.interrupted,
    *READING,
    "CSM-WKP-01",
)
