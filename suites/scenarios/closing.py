"""Members that close while the network or the coordinator is in the way, and their successors.

A member that cannot reach its coordinator closes all the same, within its time. What it has not committed is read
again by the member that takes over.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from harness.model.dice import Dice
from harness.model.mode import LIVE_ONLY
from harness.model.spec import AtTime, FaultSpec, FrameMatch, OnFrame
from harness.model.verdicts import Guarantee
from harness.plugins.scenario import Config
from harness.wire.apis import Api
from suites.scenarios.consume import GUARANTEES, READING
from suites.scenarios.effects import consequence, members, reading
from suites.scenarios.group import NEW_PROTOCOL, READ
from suites.scenarios.situation import Schedule, situation

AUTO_COMMIT: Final[Config] = {"enable.auto.commit": True}
#: Error codes of a coordinator that is another broker, and of one that does not know the member.
NOT_COORDINATOR, UNKNOWN_MEMBER = 16, 25
EVERY: Final = 1_000_000

_scenario = partial(
    situation,
    "close",
    workload=READ,
    guarantees=GUARANTEES,
    modes=LIVE_ONLY,
    require_all_faults=False,
)


def _leave_under(kind: str, duration_ms: tuple[int, int], **params: int) -> Schedule:
    """Return a schedule in which a member closes a moment after a fault of the network or the brokers has begun."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        at_ms = dice.between(800, 1_500)
        return (
            FaultSpec(kind, AtTime(at_ms), dice.between(*duration_ms), params),
            _leave(at_ms + 200, dice),
        )

    return drawn


def _leave_with(kind: str, api: str, direction: str = "response") -> Schedule:
    """Return a schedule in which a member closes while all frames of an API meet a fault."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        at_ms = dice.between(800, 1_500)
        match = FrameMatch(api, direction, count=EVERY)
        return (
            FaultSpec(kind, AtTime(at_ms - 100), 2_500, frames=match),
            _leave(at_ms, dice),
        )

    return drawn


def _leave(at_ms: int, dice: Dice) -> FaultSpec:
    return FaultSpec(
        "member_leave", AtTime(at_ms), dice.between(1_500, 2_500), {"member": dice.between(1, 2)}
    )


LEAVE_ANSWER_LOST = _scenario(
    "leave-answer-lost",
    "A member closes, and the answer to its LeaveGroup is lost.",
    _leave_with("dropped_frame", "LeaveGroup"),
    reading.left_unheard,
    *READING,
)

LEAVE_REQUEST_LOST = _scenario(
    "leave-request-lost",
    "A member closes, and its LeaveGroup is lost, so that the group has to wait for its session to end.",
    _leave_with("dropped_frame", "LeaveGroup", "request"),
    reading.left_unasked,
    *READING,
)

LEAVE_REFUSED = _scenario(
    "leave-refused",
    "A member closes, and the answer to its LeaveGroup is an error.",
    lambda dice: (
        FaultSpec(
            "error_response",
            AtTime(500),
            4_000,
            {"api": Api.LEAVE_GROUP, "code": dice.choice((NOT_COORDINATOR, UNKNOWN_MEMBER))},
        ),
        _leave(dice.between(800, 1_500), dice),
    ),
    reading.left_refused,
    *READING,
)

LEAVE_LOST_NEW_PROTOCOL = _scenario(
    "leave-lost-new-protocol",
    "A member closes, and answers to ConsumerGroupHeartbeat are lost, so that it does not hear that it has left.",
    _leave_with("dropped_frame", "ConsumerGroupHeartbeat"),
    reading.left_unheard,
    *READING,
    config=NEW_PROTOCOL,
)

COMMIT_ANSWER_LOST = _scenario(
    "commit-answer-lost",
    "A member closes, and the answers to its last automatic commits are lost.",
    _leave_with("dropped_frame", "OffsetCommit"),
    reading.left_unheard,
    *READING,
    config=AUTO_COMMIT,
    guarantees=(Guarantee.AT_LEAST_ONCE,),
)

COMMIT_REQUEST_LOST = _scenario(
    "commit-request-lost",
    "A member closes, and its last automatic commits are lost.",
    _leave_with("dropped_frame", "OffsetCommit", "request"),
    reading.left_unasked,
    *READING,
    config=AUTO_COMMIT,
    guarantees=(Guarantee.AT_LEAST_ONCE,),
)

CUT = _scenario(
    "cut",
    "All connections end as a member leaves.",
    lambda dice: (
        _leave(dice.between(800, 1_500), dice),
        FaultSpec("disconnect", OnFrame("LeaveGroup", "request"), dice.between(300, 600)),
    ),
    members.cut_off,
    *READING,
)

SILENT = _scenario(
    "silent",
    "A member closes while all bytes are swallowed.",
    _leave_under("partition", (2_000, 3_000)),
    consequence.held_up,
    *READING,
)

REFUSED = _scenario(
    "refused",
    "A member closes while every connection attempt is refused.",
    _leave_under("refuse", (2_000, 3_000)),
    consequence.held_up,
    *READING,
)

SLOW = _scenario(
    "slow",
    "A member closes while requests and answers take a fifth of a second longer each.",
    _leave_under("latency", (2_500, 3_500), upstream_ms=200, downstream_ms=200),
    consequence.delayed,
    *READING,
)

HALF_OPEN = _scenario(
    "half-open",
    "A member closes while the brokers' end of its connections is gone, without a word to it.",
    _leave_under("half_open", (3_000, 4_000)),
    reading.reconnected,
    *READING,
)

AT_WORK = _scenario(
    "at-work",
    "A member closes while its application works a second on each turn.",
    lambda dice: (
        FaultSpec("slow_processing", AtTime(300), 4_000, {"member": 1, "processing_ms": 1_000}),
        FaultSpec("member_leave", AtTime(2_500 + dice.between(0, 500)), 2_000, {"member": 1}),
    ),
    members.slow_turns,
    *READING,
)
