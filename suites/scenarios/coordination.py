"""Groups whose requests to the coordinator are lost, late, answered twice or refused, and whose coordinator is gone.

Requests that a member makes only at its beginning meet their fault from before its start. The errors are such as a
coordinator gives: it loads, it is another broker, or it does not know the member or its generation.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from harness.model.dice import Dice
from harness.model.mode import BOTH_MODES, LIVE_ONLY
from harness.model.spec import AtTime, FaultSpec, FrameMatch, OnFrame, OnPhase, Workload
from harness.model.verdicts import Guarantee
from harness.plugins.scenario import Config
from harness.wire.apis import Api, api_name
from suites.scenarios.consume import GUARANTEES, READ, READING
from suites.scenarios.effects import reading
from suites.scenarios.group import NEW_PROTOCOL
from suites.scenarios.situation import NODES, Schedule, situation

#: From before the client starts until long afterwards.
FROM_START_MS: Final = 30_000
#: A load that lasts for a whole rolling restart.
LONG: Final = Workload(
    kind="consume", records=4_000, records_per_command=40, interval_ms=200, params={"members": 2}
)
#: Beyond the profile's request.timeout.ms of 3 s.
BEYOND_TIMEOUT_MS: Final = 3_800
#: With it, a member asks again to join after ten seconds instead of fifteen.
IMPATIENT: Final[Config] = {"max.poll.interval.ms": 5_000}
#: A load that lasts for two sessions and some time more.
LONG_READ: Final = Workload(
    kind="consume", records=3_000, records_per_command=40, interval_ms=200, params={"members": 2}
)
#: With it, a session ends before a request does.
OUTLASTING: Final[Config] = {"request.timeout.ms": 20_000, "default.api.timeout.ms": 30_000}
#: Error codes of coordinators: it loads, there is none, and it is another broker.
LOADING, NO_COORDINATOR, NOT_COORDINATOR = 14, 15, 16
ELSEWHERE: Final = (LOADING, NO_COORDINATOR, NOT_COORDINATOR)
#: What a coordinator that does not know the member answers.
GENERATION, UNKNOWN_MEMBER, REBALANCE = 22, 25, 27
#: What it answers while a transaction holds an offset back.
UNSTABLE: Final = 88

_scenario = partial(
    situation,
    "group",
    workload=READ,
    guarantees=GUARANTEES,
    modes=LIVE_ONLY,
    require_all_faults=False,
)


def _at_start(kind: str, api: Api, direction: str = "response", *, first: int = 1, **params: int) -> Schedule:
    """Return a schedule with a fault of one of the first frames of an API, from before the members start."""
    match = FrameMatch(api_name(api), direction, first=first)
    return lambda dice: (FaultSpec(kind, OnPhase("startup"), FROM_START_MS, params, frames=match),)


def _in_load(kind: str, api: Api, direction: str = "response", **params: int) -> Schedule:
    """Return a schedule with faults of two frames of an API, counted from the beginning of the load."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        first = dice.between(1, 3)
        return tuple(
            FaultSpec(
                kind,
                AtTime(0),
                READ.load_ms,
                params,
                frames=FrameMatch(api_name(api), direction, first=nth),
            )
            for nth in (first, first + dice.between(2, 4))
        )

    return drawn


def _refused_at_start(api: Api, *codes: int, most: int = 3) -> Schedule:
    """Return a schedule in which the first answers of an API report one of the codes."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        params = {"api": int(api), "code": dice.choice(codes), "count": dice.between(1, most)}
        return (FaultSpec("error_response", OnPhase("startup"), FROM_START_MS, params),)

    return drawn


def refused(api: Api, *codes: int, least: int = 1, most: int = 2) -> Schedule:
    """Return a schedule in which the next answers of an API report one of the codes, once the group has settled."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        start = OnFrame(api_name(api), "request", nth=1, after_ms=dice.between(900, 1_600))
        params = {"api": int(api), "code": dice.choice(codes), "count": dice.between(least, most)}
        return (FaultSpec("error_response", start, 3_000, params),)

    return drawn


COORDINATOR_LOST = _scenario(
    "coordinator-answer-lost",
    "The first answer to FindCoordinator is lost.",
    _at_start("dropped_frame", Api.FIND_COORDINATOR),
    reading.unanswered,
    *READING,
)

COORDINATOR_UNKNOWN = _scenario(
    "coordinator-unknown",
    "The first answers to FindCoordinator report that there is no coordinator yet.",
    _refused_at_start(Api.FIND_COORDINATOR, NO_COORDINATOR),
    reading.refused,
    *READING,
    modes=BOTH_MODES,
)

JOIN_LOST = _scenario(
    "join-answer-lost",
    "An answer to JoinGroup is lost, after the coordinator has counted the member.",
    _at_start("dropped_frame", Api.JOIN_GROUP, first=2),
    reading.unanswered,
    *READING,
    config=IMPATIENT,
)

JOIN_REQUEST_LOST = _scenario(
    "join-request-lost",
    "The first JoinGroup request is lost.",
    _at_start("dropped_frame", Api.JOIN_GROUP, "request"),
    reading.unasked,
    *READING,
    config=IMPATIENT,
)

JOIN_LATE = _scenario(
    "join-answer-late",
    "An answer to JoinGroup is kept back for seconds.",
    _at_start("late_frame", Api.JOIN_GROUP, first=2, delay_ms=BEYOND_TIMEOUT_MS),
    reading.late,
    *READING,
)

JOIN_REFUSED = _scenario(
    "join-refused",
    "The first answers to JoinGroup report that the coordinator loads, or that it is another broker.",
    _refused_at_start(Api.JOIN_GROUP, *ELSEWHERE),
    reading.refused,
    *READING,
    modes=BOTH_MODES,
)

JOIN_UNKNOWN = _scenario(
    "join-unknown",
    "The first answer to JoinGroup reports that the coordinator does not know the member.",
    _refused_at_start(Api.JOIN_GROUP, UNKNOWN_MEMBER, most=1),
    reading.refused,
    *READING,
)

SYNC_LOST = _scenario(
    "sync-answer-lost",
    "The first answer to SyncGroup is lost, and with it an assignment.",
    _at_start("dropped_frame", Api.SYNC_GROUP),
    reading.unanswered,
    *READING,
    config=IMPATIENT,
)

SYNC_LATE = _scenario(
    "sync-answer-late",
    "The first answer to SyncGroup is kept back for seconds.",
    _at_start("late_frame", Api.SYNC_GROUP, delay_ms=BEYOND_TIMEOUT_MS),
    reading.late,
    *READING,
)

SYNC_REFUSED = _scenario(
    "sync-refused",
    "The first answer to SyncGroup reports another generation, an unknown member or a rebalance.",
    _refused_at_start(Api.SYNC_GROUP, GENERATION, UNKNOWN_MEMBER, REBALANCE, most=1),
    reading.refused,
    *READING,
)

SYNC_ELSEWHERE = _scenario(
    "sync-elsewhere",
    "The first answer to SyncGroup reports that the coordinator is another broker, or that there is none.",
    _refused_at_start(Api.SYNC_GROUP, NO_COORDINATOR, NOT_COORDINATOR, most=1),
    reading.refused,
    *READING,
)

HEARTBEAT_LOST = _scenario(
    "heartbeat-answer-lost",
    "An answer to Heartbeat is lost.",
    _in_load("dropped_frame", Api.HEARTBEAT),
    reading.unanswered,
    *READING,
)

HEARTBEAT_LATE = _scenario(
    "heartbeat-answer-late",
    "Answers to Heartbeat are kept back for two seconds.",
    _in_load("late_frame", Api.HEARTBEAT, delay_ms=2_000),
    reading.late,
    *READING,
)

HEARTBEAT_HELD = _scenario(
    "heartbeat-answer-held",
    "An answer to Heartbeat, and all behind it on its connection, is held back for longer than the session lasts.",
    lambda dice: (
        FaultSpec(
            "held_frame",
            AtTime(0),
            12_000,
            frames=FrameMatch(api_name(Api.HEARTBEAT), "response", first=dice.between(1, 3)),
        ),
    ),
    reading.late,
    *READING,
    config=OUTLASTING,
    workload=LONG_READ,
    modes=BOTH_MODES,
)

HEARTBEAT_DOUBLED = _scenario(
    "heartbeat-answer-doubled",
    "Two answers to Heartbeat arrive twice.",
    _in_load("duplicated_response", Api.HEARTBEAT),
    reading.doubled,
    *READING,
)

HEARTBEAT_ELSEWHERE = _scenario(
    "heartbeat-elsewhere",
    "Answers to Heartbeat report that the coordinator is another broker, or that there is none.",
    refused(Api.HEARTBEAT, NO_COORDINATOR, NOT_COORDINATOR, least=2, most=3),
    reading.sought,
    *READING,
)

HEARTBEAT_REBALANCE = _scenario(
    "heartbeat-rebalance",
    "Answers to Heartbeat report a rebalance, or another generation.",
    refused(Api.HEARTBEAT, REBALANCE, GENERATION, least=2, most=3),
    reading.rejoined,
    *READING,
)

HEARTBEAT_UNKNOWN = _scenario(
    "heartbeat-unknown",
    "An answer to Heartbeat reports that the coordinator does not know the member.",
    refused(Api.HEARTBEAT, UNKNOWN_MEMBER, most=1),
    reading.rejoined,
    *READING,
    modes=BOTH_MODES,
)

COMMIT_LOST = _scenario(
    "commit-answer-lost",
    "Two answers to OffsetCommit are lost, after the offsets were stored.",
    _in_load("dropped_frame", Api.OFFSET_COMMIT),
    reading.unanswered,
    *READING,
)

COMMIT_REQUEST_LOST = _scenario(
    "commit-request-lost",
    "Two OffsetCommit requests are lost.",
    _in_load("dropped_frame", Api.OFFSET_COMMIT, "request"),
    reading.unasked,
    *READING,
)

COMMIT_LATE = _scenario(
    "commit-answer-late",
    "Two answers to OffsetCommit are kept back for two seconds.",
    _in_load("late_frame", Api.OFFSET_COMMIT, delay_ms=2_000),
    reading.late,
    *READING,
)

COMMIT_DOUBLED = _scenario(
    "commit-answer-doubled",
    "Two answers to OffsetCommit arrive twice.",
    _in_load("duplicated_response", Api.OFFSET_COMMIT),
    reading.doubled,
    *READING,
)

COMMIT_ELSEWHERE = _scenario(
    "commit-elsewhere",
    "Answers to OffsetCommit report that the coordinator loads, or that it is another broker.",
    refused(Api.OFFSET_COMMIT, *ELSEWHERE, most=3),
    reading.refused,
    *READING,
    "CSM-OFC-01",
    modes=BOTH_MODES,
)

COMMIT_REFUSED = _scenario(
    "commit-refused",
    "An answer to OffsetCommit reports another generation, an unknown member or a rebalance.",
    refused(Api.OFFSET_COMMIT, GENERATION, UNKNOWN_MEMBER, REBALANCE, most=1),
    reading.refused,
    *READING,
    guarantees=(Guarantee.AT_LEAST_ONCE,),
)

OFFSETS_LOST = _scenario(
    "offsets-answer-lost",
    "The first answer to OffsetFetch is lost.",
    _at_start("dropped_frame", Api.OFFSET_FETCH),
    reading.unanswered,
    *READING,
)

OFFSETS_REFUSED = _scenario(
    "offsets-refused",
    "The first answers to OffsetFetch report that the coordinator loads, or that it is another broker.",
    _refused_at_start(Api.OFFSET_FETCH, LOADING, NOT_COORDINATOR),
    reading.refused,
    *READING,
    "CSM-OFC-07",
    modes=BOTH_MODES,
)

OFFSETS_UNSTABLE = _scenario(
    "offsets-unstable",
    "The first answers to OffsetFetch report to readers of committed data that a transaction holds offsets back.",
    _refused_at_start(Api.OFFSET_FETCH, UNSTABLE),
    reading.refused,
    *READING,
    "CSM-OFC-07",
    config={"isolation.level": "read_committed"},
    modes=BOTH_MODES,
)

EPOCH_ELSEWHERE = _scenario(
    "epoch-elsewhere",
    "With KIP-848, answers to ConsumerGroupHeartbeat report that the coordinator loads, or that it is another broker.",
    refused(Api.CONSUMER_GROUP_HEARTBEAT, *ELSEWHERE),
    reading.refused,
    *READING,
    config=NEW_PROTOCOL,
    modes=BOTH_MODES,
)

EPOCH_LOST = _scenario(
    "epoch-answer-lost",
    "With KIP-848, the first answer to ConsumerGroupHeartbeat is lost.",
    _at_start("dropped_frame", Api.CONSUMER_GROUP_HEARTBEAT),
    reading.unanswered,
    *READING,
    config=NEW_PROTOCOL,
)

COORDINATOR_CUT = _scenario(
    "coordinator-idle-kill",
    "Connections that rest for half a second, as that to the coordinator does, are killed in the network.",
    lambda dice: (FaultSpec("idle_kill", AtTime(dice.between(300, 800)), 3_500, {"idle_ms": 500}),),
    reading.hung_up,
    *READING,
)

COORDINATOR_SILENT = _scenario(
    "coordinator-silent",
    "Nothing passes for longer than the session lasts, so that no heartbeat arrives in time.",
    lambda dice: (FaultSpec("partition", AtTime(dice.between(500, 1_000)), 7_500),),
    reading.rejoined,
    *READING,
)

COORDINATOR_MOVES = _scenario(
    "coordinator-moves",
    "The group gets another coordinator, which keeps it.",
    lambda dice: (FaultSpec("coordinator_move", AtTime(dice.between(500, 1_000)), 2_000),),
    reading.sought,
    *READING,
    modes=BOTH_MODES,
    exclusive_cluster=True,
    needs_brokers=len(NODES),
)

COORDINATOR_RESTARTED = _scenario(
    "coordinator-restarted",
    "One broker after the other is shut down cleanly and started again, the coordinator among them.",
    lambda dice: (FaultSpec("broker_restart", AtTime(dice.between(500, 1_000)), 500, {"one_by_one": 1}),),
    reading.sought,
    *READING,
    workload=LONG,
    exclusive_cluster=True,
    needs_brokers=len(NODES),
)
