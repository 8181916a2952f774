"""Groups whose commits are late, refused or left to the client, while members come and go.

Members that leave commits to their client work for a while on what a poll returned. So a commit may pass while records
are taken and not done with.
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
from suites.scenarios.consume import GUARANTEES, READ, READING
from suites.scenarios.coordination import ELSEWHERE, FROM_START_MS, NO_COORDINATOR, NOT_COORDINATOR, refused
from suites.scenarios.effects import members, reading
from suites.scenarios.group import NEW_PROTOCOL
from suites.scenarios.situation import situation

WORK: Final = Workload(
    kind="consume", records=2_000, records_per_command=25, params={"members": 2, "processing_ms": 200}
)
#: Two members that do not wait for their commits.
ASYNC: Final = Workload(
    kind="consume", records=1_200, records_per_command=40, params={"members": 2, "commit_async": 1}
)
#: The same, with work on each turn, so that results come while the application is not in a call.
ASYNC_WORK: Final = Workload(
    kind="consume",
    records=1_200,
    records_per_command=40,
    params={"members": 2, "commit_async": 1, "processing_ms": 150},
)
#: One consumer, with all partitions as its own.
ASSIGNED: Final = Workload(
    kind="consume", records=1_200, records_per_command=40, params={"members": 1, "assign": 1}
)
#: Longer than several intervals of automatic commits, and within the request timeout.
LATE_MS: Final = 2_400
LIST_OFFSETS: Final = api_name(Api.LIST_OFFSETS)
OUT_OF_RANGE: Final = 1
AUTO: Final[Config] = {"enable.auto.commit": True}

_commits = partial(situation, "group", modes=BOTH_MODES, require_all_faults=False)
_of_clients = partial(_commits, workload=WORK, guarantees=(Guarantee.AT_LEAST_ONCE,), config=AUTO)
_in_background = partial(_commits, guarantees=(Guarantee.AT_LEAST_ONCE,))


def _joined(dice: Dice) -> tuple[FaultSpec, ...]:
    return (FaultSpec("member_join", AtTime(dice.between(400, 1_500)), dice.between(6_000, 7_000)),)


def _killed(dice: Dice) -> tuple[FaultSpec, ...]:
    params = {"member": dice.between(1, 2)}
    return (FaultSpec("member_kill", AtTime(dice.between(1_500, 3_000)), dice.between(1_500, 2_500), params),)


def _late_commits(dice: Dice) -> FaultSpec:
    """Return a fault that keeps three answers to commits back."""
    match = FrameMatch(api_name(Api.OFFSET_COMMIT), "response", first=dice.between(3, 6), count=3)
    return FaultSpec(
        "late_frame", AtTime(0), READ.load_ms, {"delay_ms": dice.between(800, 1_200)}, frames=match
    )


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


JOIN = _of_clients(
    "auto-commit-join",
    "A third member joins a group whose members let their client commit while they work, and leaves.",
    _joined,
    members.moved,
    *READING,
    "CSM-ACM-01",
    "CSM-ACM-02",
)

JOIN_NEW_PROTOCOL = _of_clients(
    "auto-commit-join-new-protocol",
    "A third member joins a group whose coordinator assigns, and whose members let their client commit.",
    _joined,
    members.moved,
    *READING,
    "CSM-ACM-01",
    "CSM-ACM-02",
    config={**AUTO, **NEW_PROTOCOL},
)

KILL = _of_clients(
    "auto-commit-kill",
    "One of two members that let their client commit while they work is killed.",
    _killed,
    members.moved,
    *READING,
    "CSM-ACM-01",
)

REFUSED = _of_clients(
    "auto-commit-refused",
    "Automatic commits are answered with errors of a coordinator that loads, is away or has moved.",
    refused(Api.OFFSET_COMMIT, *ELSEWHERE, most=3),
    reading.refused,
    *READING,
    "CSM-ACM-03",
)

UNLISTED = _of_clients(
    "auto-commit-unlisted",
    "Members that let their client commit learn late where their partitions begin.",
    _unlisted,
    reading.late,
    *READING,
    "CSM-ACM-04",
)

OUT_OF_RANGE_LATE = _of_clients(
    "auto-commit-out-of-range",
    "Members that let their client commit are told that an offset is out of range, and learn late which there are.",
    _beyond,
    reading.out_of_range,
    *READING,
    "CSM-ACM-04",
)

COMMIT_LATE_THEN_SYNC = _in_background(
    "commit-answer-late-then-sync",
    "Answers to commits are kept back, and the application waits for another one while they are.",
    lambda dice: (
        _late_commits(dice),
        FaultSpec("commit_now", AtTime(dice.between(1_000, 1_400)), 2_000, {"member": dice.between(1, 2)}),
        FaultSpec("commit_now", AtTime(dice.between(1_500, 1_900)), 2_000, {"member": dice.between(1, 2)}),
    ),
    reading.late,
    *READING,
    "CSM-OFC-02",
    workload=ASYNC_WORK,
)

COMMIT_LATE_ASYNC = _in_background(
    "commit-answer-late-async",
    "Answers to commits for which the application does not wait are kept back, and arrive together while it works.",
    lambda dice: (_late_commits(dice),),
    reading.late,
    *READING,
    "CSM-OFC-02",
    workload=ASYNC_WORK,
)

COMMIT_ELSEWHERE_ASYNC = _in_background(
    "commit-elsewhere-async",
    "Answers to commits for which the application does not wait report a coordinator that loads, is away or has moved.",
    refused(Api.OFFSET_COMMIT, *ELSEWHERE, most=3),
    reading.refused,
    *READING,
    "CSM-OFC-01",
    workload=ASYNC,
)

COMMIT_ELSEWHERE_ASSIGNED = _commits(
    "commit-elsewhere-assigned",
    "Answers to commits of a consumer that has assigned itself its partitions report that the coordinator has moved.",
    refused(Api.OFFSET_COMMIT, NO_COORDINATOR, NOT_COORDINATOR, most=3),
    reading.refused,
    *READING,
    "CSM-OFC-05",
    workload=ASSIGNED,
    guarantees=GUARANTEES,
)
