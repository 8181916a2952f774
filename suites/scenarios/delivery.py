"""Reading while single answers to Fetch or ListOffsets meet a fault, or report an error, and while leaders change.

The errors are such as a broker gives without losing anything, so that a client that starts again from its position
misses no record.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from harness.model.dice import Dice
from harness.model.mode import BOTH_MODES, LIVE_ONLY
from harness.model.spec import AtTime, FaultSpec, FrameMatch, OnFrame, OnPhase, Workload
from harness.model.verdicts import Guarantee
from harness.wire.apis import Api
from suites.scenarios.consume import GUARANTEES, READ, READING
from suites.scenarios.effects import consequence, members, reading
from suites.scenarios.situation import NODES, Schedule, situation

LOAD_MS: Final = READ.load_ms
#: From before the client starts until long afterwards.
FROM_START_MS: Final = 30_000
#: Beyond the profile's request.timeout.ms of 3 s.
BEYOND_TIMEOUT_MS: Final = 3_800
APART: Final = (2, 5)
#: Error codes of Fetch: what brokers answer that do not lead a partition, or in another epoch.
NOT_LEADER, FENCED_EPOCH, UNKNOWN_EPOCH = 6, 74, 75
UNKNOWN_PARTITION, NO_LEADER = 3, 5
#: Error codes of fetch sessions: unknown, and of another epoch.
NO_SESSION, SESSION_EPOCH = 70, 71
#: One member, which reads all partitions.
ALONE: Final = Workload(kind="consume", records=1_200, records_per_command=40, params={"members": 1})

_scenario = partial(
    situation,
    "delivery",
    workload=READ,
    guarantees=GUARANTEES,
    modes=LIVE_ONLY,
    require_all_faults=False,
)
_moved = partial(_scenario, needs_brokers=len(NODES), exclusive_cluster=True)


def _on_fetch(
    kind: str, direction: str = "response", *, times: int = 3, duration_ms: int = LOAD_MS, **params: int
) -> Schedule:
    """Return a schedule of faults on single Fetch frames, counted from the beginning of the load."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        faults, first = [], 0
        for _ in range(times):
            first += dice.between(*APART)
            match = FrameMatch("Fetch", direction, first=first)
            faults.append(FaultSpec(kind, AtTime(0), duration_ms, params, frames=match))
        return tuple(faults)

    return drawn


def _damaged(dice: Dice) -> tuple[FaultSpec, ...]:
    """Return a schedule that damages batches, and then replaces the member, as an operator does with one that fails."""
    match = FrameMatch("Fetch", first=dice.between(1, 4), count=dice.between(2, 5))
    params = {"batch": dice.between(0, 2), "records": dice.between(0, 1)}
    at_ms = dice.between(300, 900)
    return (
        FaultSpec("damaged_batch", AtTime(at_ms), 1_500, params, frames=match),
        FaultSpec("member_leave", AtTime(at_ms + 2_500), 300, {"member": 1}),
    )


def _answered(*codes: int, count: int = 6) -> Schedule:
    """Return a schedule in which some Fetch answers in the load report one of the codes."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        params = {"api": int(Api.FETCH), "code": dice.choice(codes), "count": count}
        return (FaultSpec("error_response", AtTime(dice.between(300, 1_500)), 2_000, params),)

    return drawn


def _at_start(kind: str, **params: int) -> Schedule:
    """Return a schedule with a fault of the first ListOffsets answer of the trial."""
    match = FrameMatch("ListOffsets", "response")
    return lambda dice: (FaultSpec(kind, OnPhase("startup"), FROM_START_MS, params, frames=match),)


LOST_ANSWER = _scenario(
    "lost-answer",
    "Two Fetch answers are lost, each alone, on connections that stay open.",
    _on_fetch("dropped_frame", times=2),
    reading.unanswered,
    *READING,
)

LOST_REQUEST = _scenario(
    "lost-request",
    "Two Fetch requests are lost, each alone, on connections that stay open.",
    _on_fetch("dropped_frame", "request", times=2),
    reading.unasked,
    *READING,
)

LATE_ANSWER = _scenario(
    "late-answer",
    "A Fetch answer arrives after its request has timed out.",
    _on_fetch("late_frame", times=1, duration_ms=2 * LOAD_MS, delay_ms=BEYOND_TIMEOUT_MS),
    consequence.stalled,
    *READING,
)

SLOW_ANSWER = _scenario(
    "slow-answer",
    "Three Fetch answers arrive a second late, but in time.",
    _on_fetch("late_frame", delay_ms=1_000),
    reading.late,
    *READING,
)

HELD_REQUEST = _scenario(
    "held-request",
    "A Fetch request is held until its client has given it up. Then the broker receives and answers it.",
    _on_fetch("held_frame", "request", times=1, duration_ms=LOAD_MS),
    reading.reconnected,
    *READING,
)

TORN_ANSWER = _scenario(
    "torn-answer",
    "Three Fetch answers break off in the middle, with their connections.",
    _on_fetch("close_at_frame", at_byte=60),
    reading.unanswered,
    *READING,
)

RESET_BEHIND_ANSWER = _scenario(
    "reset-behind-answer",
    "Three connections end right after a whole Fetch answer.",
    _on_fetch("close_at_frame", reset=1),
    reading.reconnected,
    *READING,
)

SLICED_ANSWERS = _scenario(
    "sliced-answers",
    "Three Fetch answers arrive in pieces of 50 bytes.",
    _on_fetch("sliced_frame", size_bytes=50, gap_us=1_000),
    reading.in_pieces,
    *READING,
)

DOUBLED_ANSWERS = _scenario(
    "doubled-answers",
    "Three Fetch answers arrive twice.",
    _on_fetch("duplicated_response"),
    reading.doubled,
    *READING,
)

STRANGE_ANSWERS = _scenario(
    "strange-answers",
    "Three Fetch answers have a correlation id that no request used.",
    _on_fetch("wrong_correlation_id"),
    reading.strange,
    *READING,
)

DAMAGED_BATCHES = _scenario(
    "damaged-batches",
    "Some Fetch answers have a batch with a wrong checksum. Then the process that reads is replaced.",
    _damaged,
    reading.damaged,
    *READING,
    "CSM-FET-09",
    workload=ALONE,
    modes=BOTH_MODES,
)

NOT_LEADER_ANSWERS = _scenario(
    "not-leader",
    "Some Fetch answers report that the broker does not lead the partitions, or not in that epoch.",
    _answered(NOT_LEADER, FENCED_EPOCH, UNKNOWN_EPOCH),
    reading.refused,
    *READING,
    "CSM-FET-06",
    modes=BOTH_MODES,
)

UNKNOWN_PARTITION_ANSWERS = _scenario(
    "unknown-partition",
    "Some Fetch answers report that there are no such partitions, as a broker does that has yet to learn of them.",
    _answered(UNKNOWN_PARTITION),
    reading.refused,
    *READING,
    "CSM-FET-06",
    modes=BOTH_MODES,
)

SESSION_LOST = _scenario(
    "session-lost",
    "Some Fetch answers report that the broker has forgotten the fetch session, or counts it otherwise (KIP-227).",
    _answered(NO_SESSION, SESSION_EPOCH, count=4),
    reading.refused,
    *READING,
)

OFFSETS_FAIL = _scenario(
    "offsets-fail",
    "The first answers to ListOffsets report that the broker does not lead the partitions, or that no broker does.",
    lambda dice: (
        FaultSpec(
            "error_response",
            OnPhase("startup"),
            FROM_START_MS,
            {
                "api": Api.LIST_OFFSETS,
                "code": dice.choice((NOT_LEADER, NO_LEADER)),
                "count": dice.between(1, 3),
            },
        ),
    ),
    reading.refused,
    *READING,
    "CSM-FET-06",
    modes=BOTH_MODES,
)

OFFSETS_LOST = _scenario(
    "offsets-lost",
    "The first answer to ListOffsets is lost.",
    _at_start("dropped_frame"),
    reading.unanswered,
    *READING,
)

OFFSETS_LATE = _scenario(
    "offsets-late",
    "The first answer to ListOffsets arrives after its request has timed out.",
    _at_start("late_frame", delay_ms=BEYOND_TIMEOUT_MS),
    reading.late,
    *READING,
)

LEADERS_MOVE = _moved(
    "leaders-move",
    "Every partition gets another leader while members read.",
    lambda dice: (FaultSpec("leader_move", AtTime(dice.between(500, 1_500)), 1_500),),
    reading.other_leaders,
    *READING,
)

STALE_METADATA = _moved(
    "stale-metadata",
    "For two seconds Metadata wrongly names one broker as the leader of all partitions.",
    lambda dice: (
        FaultSpec("stale_metadata", AtTime(dice.between(300, 900)), 2_500, {"leader_id": dice.choice(NODES)}),
    ),
    reading.other_leaders,
    *READING,
    config={"metadata.max.age.ms": 500},
)

BROKER_RESTARTED = _moved(
    "broker-restarted",
    "A broker is shut down cleanly, and is back half a second later.",
    lambda dice: (
        FaultSpec("broker_restart", AtTime(dice.between(500, 1_500)), 500, {}, (dice.choice(NODES),)),
    ),
    reading.reconnected,
    *READING,
)

BROKER_KILLED = _moved(
    "broker-killed",
    "A broker is killed, and is back two seconds later with its previous log.",
    lambda dice: (
        FaultSpec("broker_kill", AtTime(dice.between(500, 1_500)), 2_000, {}, (dice.choice(NODES),)),
    ),
    reading.reconnected,
    *READING,
)

BROKER_PAUSED = _moved(
    "broker-paused",
    "A broker stalls for longer than the request timeout.",
    lambda dice: (
        FaultSpec("broker_pause", AtTime(dice.between(500, 1_000)), 4_500, {}, (dice.choice(NODES),)),
    ),
    consequence.held_up,
    *READING,
)

#: Brokers that lose records which no member got. Of the promises, only that of at-most-once still applies.
LOG_TRIMMED = _scenario(
    "log-trimmed",
    "While members are cut off, the log is trimmed to its end, so that their offsets are out of range.",
    lambda dice: (
        FaultSpec("partition", OnFrame("Fetch", "request", after_ms=300), 2_500),
        FaultSpec("log_trim", AtTime(dice.between(1_500, 2_200)), 500),
    ),
    reading.out_of_range,
    *READING,
    exclusive_cluster=True,
    guarantees=(Guarantee.AT_MOST_ONCE,),
)

SOUGHT_BACK = _scenario(
    "sought-back",
    "A member goes back to the beginning of its partitions, while it reads.",
    lambda dice: (FaultSpec("seek_back", AtTime(dice.between(800, 2_000)), 500),),
    reading.read_again,
    *READING,
    workload=ALONE,
)

PAUSED = _scenario(
    "paused",
    "A member pauses its partitions for two seconds, and resumes them.",
    lambda dice: (
        FaultSpec("pause_partitions", AtTime(dice.between(500, 1_000)), dice.between(1_500, 2_500)),
    ),
    consequence.held_up,
    *READING,
    "CSM-FET-08",
    workload=ALONE,
    modes=BOTH_MODES,
)

PAUSED_BESIDE_ANOTHER = _scenario(
    "paused-beside-another",
    "One of two members pauses all partitions for two seconds, those of the other member too, and resumes them.",
    lambda dice: (
        FaultSpec(
            "pause_partitions",
            AtTime(dice.between(500, 1_000)),
            dice.between(1_500, 2_500),
            {"member": dice.between(1, 2)},
        ),
    ),
    consequence.held_up,
    *READING,
    "CSM-FET-08",
    "CSM-API-06",
    modes=BOTH_MODES,
)

ILLEGAL_CALLS = _scenario(
    "illegal-calls",
    "A member that is subscribed tries to assign itself partitions, and to poll after it has unsubscribed.",
    lambda dice: (FaultSpec("illegal_calls", AtTime(dice.between(800, 2_000)), 500),),
    members.attempted,
    *READING,
    "CSM-API-01",
    "CSM-API-02",
    workload=ALONE,
    modes=BOTH_MODES,
)
