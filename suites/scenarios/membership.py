"""Groups of KIP-848 whose heartbeats and commits are lost, late or refused."""

from __future__ import annotations

from functools import partial
from typing import Final

from harness.model.dice import Dice
from harness.model.mode import BOTH_MODES
from harness.model.spec import AtTime, FaultSpec, FrameMatch, OnPhase
from harness.model.verdicts import Guarantee
from harness.wire.apis import Api, api_name
from suites.scenarios.consume import GUARANTEES, READ, READING
from suites.scenarios.coordination import LONG, UNKNOWN_MEMBER, refused
from suites.scenarios.effects import reading
from suites.scenarios.group import NEW_PROTOCOL
from suites.scenarios.situation import situation

#: What ends a membership: no right to the group, a wrong request, a full group, and an unknown assignor.
FATAL: Final = (30, 42, 81, 112)
FENCED_EPOCH, STALE_EPOCH = 110, 113
HEARTBEAT: Final = api_name(Api.CONSUMER_GROUP_HEARTBEAT)

_scenario = partial(
    situation,
    "group",
    workload=READ,
    guarantees=GUARANTEES,
    config=NEW_PROTOCOL,
    modes=BOTH_MODES,
    require_all_faults=False,
)


def _late(dice: Dice) -> tuple[FaultSpec, ...]:
    match = FrameMatch(HEARTBEAT, "response")
    return (FaultSpec("late_frame", OnPhase("startup"), 30_000, {"delay_ms": 2_000}, frames=match),)


def _lost(dice: Dice) -> tuple[FaultSpec, ...]:
    first = dice.between(1, 3)
    return tuple(
        FaultSpec(
            "dropped_frame", AtTime(0), READ.load_ms, frames=FrameMatch(HEARTBEAT, "response", first=nth)
        )
        for nth in (first, first + dice.between(2, 4))
    )


def _stale_while_joining(dice: Dice) -> tuple[FaultSpec, ...]:
    at_ms = dice.between(800, 1_200)
    params = {"api": int(Api.OFFSET_COMMIT), "code": STALE_EPOCH, "count": 1_000}
    return (
        FaultSpec("error_response", AtTime(at_ms), 6_000, params),
        FaultSpec("member_join", AtTime(at_ms + 200), 9_000),
    )


EPOCH_LOST_IN_LOAD = _scenario(
    "epoch-answers-lost",
    "With KIP-848, two answers to ConsumerGroupHeartbeat are lost while the group reads.",
    _lost,
    reading.unanswered,
    *READING,
)

EPOCH_FENCED = _scenario(
    "epoch-fenced",
    "With KIP-848, an answer to ConsumerGroupHeartbeat fences the member, or reports that it is unknown.",
    refused(Api.CONSUMER_GROUP_HEARTBEAT, UNKNOWN_MEMBER, FENCED_EPOCH, most=1),
    reading.refused,
    *READING,
)

EPOCH_LATE = _scenario(
    "epoch-answer-late",
    "With KIP-848, the first answer to ConsumerGroupHeartbeat is kept back for two seconds.",
    _late,
    reading.late,
    *READING,
)

EPOCH_FATAL = _scenario(
    "epoch-fatal",
    "With KIP-848, an answer to ConsumerGroupHeartbeat reports an error that no repetition can heal.",
    refused(Api.CONSUMER_GROUP_HEARTBEAT, *FATAL, most=1),
    reading.refused_for_good,
    *READING,
)

COMMIT_STALE = _scenario(
    "commit-stale-epoch",
    "With KIP-848, an answer to OffsetCommit reports a stale epoch.",
    refused(Api.OFFSET_COMMIT, STALE_EPOCH, most=1),
    reading.refused,
    *READING,
    guarantees=(Guarantee.AT_LEAST_ONCE,),
)

COMMIT_STALE_AUTO = _scenario(
    "commit-stale-epoch-auto",
    "With KIP-848, a third member joins while all answers to automatic commits report a stale epoch.",
    _stale_while_joining,
    reading.refused,
    *READING,
    config={**NEW_PROTOCOL, "enable.auto.commit": True, "max.poll.interval.ms": 20_000},
    guarantees=(Guarantee.AT_LEAST_ONCE,),
    workload=LONG,
)
