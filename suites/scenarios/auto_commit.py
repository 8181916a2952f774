"""Groups whose members leave commits to their client, while members come and go, and while commits are refused.

Members work for a while on what a poll returned. So a commit may pass while records are taken and not done with.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from harness.model.dice import Dice
from harness.model.mode import BOTH_MODES
from harness.model.spec import AtTime, FaultSpec, FrameMatch, OnFrame, OnPhase, Workload
from harness.model.verdicts import Guarantee
from harness.plugins.scenario import Config
from harness.wire.apis import Api, api_name
from suites.scenarios.consume import READING
from suites.scenarios.coordination import ELSEWHERE, FROM_START_MS
from suites.scenarios.effects import members, reading
from suites.scenarios.group import NEW_PROTOCOL
from suites.scenarios.situation import situation

WORK: Final = Workload(
    kind="consume", records=2_000, records_per_command=25, params={"members": 2, "processing_ms": 200}
)
#: Longer than several intervals of automatic commits, and within the request timeout.
LATE_MS: Final = 2_400
LIST_OFFSETS: Final = api_name(Api.LIST_OFFSETS)
OUT_OF_RANGE: Final = 1
AUTO: Final[Config] = {"enable.auto.commit": True}

_scenario = partial(
    situation,
    "group",
    workload=WORK,
    guarantees=(Guarantee.AT_LEAST_ONCE,),
    config=AUTO,
    modes=BOTH_MODES,
    require_all_faults=False,
)


def _joined(dice: Dice) -> tuple[FaultSpec, ...]:
    return (FaultSpec("member_join", AtTime(dice.between(400, 1_500)), dice.between(6_000, 7_000)),)


def _killed(dice: Dice) -> tuple[FaultSpec, ...]:
    params = {"member": dice.between(1, 2)}
    return (FaultSpec("member_kill", AtTime(dice.between(1_500, 3_000)), dice.between(1_500, 2_500), params),)


def _refused(dice: Dice) -> tuple[FaultSpec, ...]:
    start = OnFrame(api_name(Api.OFFSET_COMMIT), "request", nth=1, after_ms=dice.between(900, 1_600))
    params = {"api": int(Api.OFFSET_COMMIT), "code": dice.choice(ELSEWHERE), "count": dice.between(1, 3)}
    return (FaultSpec("error_response", start, 3_000, params),)


def _unlisted(_: Dice) -> tuple[FaultSpec, ...]:
    match = FrameMatch(LIST_OFFSETS, "response", count=3)
    return (FaultSpec("late_frame", OnPhase("startup"), FROM_START_MS, {"delay_ms": LATE_MS}, frames=match),)


def _beyond(dice: Dice) -> tuple[FaultSpec, ...]:
    start = OnFrame(api_name(Api.FETCH), "request", nth=1, after_ms=dice.between(1_000, 1_500))
    params = {"api": int(Api.FETCH), "code": OUT_OF_RANGE, "count": 1}
    match = FrameMatch(LIST_OFFSETS, "response")
    return (
        FaultSpec("error_response", start, 2_000, params),
        FaultSpec("late_frame", AtTime(0), WORK.load_ms, {"delay_ms": LATE_MS}, frames=match),
    )


JOIN = _scenario(
    "auto-commit-join",
    "A third member joins a group whose members let their client commit while they work, and leaves.",
    _joined,
    members.moved,
    *READING,
    "CSM-ACM-01",
    "CSM-ACM-02",
)

JOIN_NEW_PROTOCOL = _scenario(
    "auto-commit-join-new-protocol",
    "A third member joins a group whose coordinator assigns, and whose members let their client commit.",
    _joined,
    members.moved,
    *READING,
    "CSM-ACM-01",
    "CSM-ACM-02",
    config={**AUTO, **NEW_PROTOCOL},
)

KILL = _scenario(
    "auto-commit-kill",
    "One of two members that let their client commit while they work is killed.",
    _killed,
    members.moved,
    *READING,
    "CSM-ACM-01",
)

REFUSED = _scenario(
    "auto-commit-refused",
    "Automatic commits are answered with errors of a coordinator that loads, is away or has moved.",
    _refused,
    reading.refused,
    *READING,
    "CSM-ACM-03",
)

UNLISTED = _scenario(
    "auto-commit-unlisted",
    "Members that let their client commit learn late where their partitions begin.",
    _unlisted,
    reading.late,
    *READING,
    "CSM-ACM-04",
)

OUT_OF_RANGE_LATE = _scenario(
    "auto-commit-out-of-range",
    "Members that let their client commit are told that an offset is out of range, and learn late which there are.",
    _beyond,
    reading.out_of_range,
    *READING,
    "CSM-ACM-04",
)
