"""Producing while single frames meet a fault at the witness: one answer lost, late, doubled; one request a ghost.

Each names its frames by number, counted from the beginning of load, on one partition: the same frame for every client.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.dice import Dice
from harness.scenario import Scenario
from harness.spec import Elapsed, FaultSpec, FrameMatch
from suites.checks.traced import TRACED
from suites.scenarios import consequence
from suites.scenarios.produce import CLOSING, DELIVERY, EXPIRY

#: Three of them, spread over the load: each is behind those before it by at least so many frames of its kind.
TIMES = 3
APART = (3, 9)
#: Beyond the profile's request.timeout.ms of 3 s, within its delivery.timeout.ms of 30 s.
BEYOND_TIMEOUT_MS = 4_000

Schedule = Callable[[Dice], tuple[FaultSpec, ...]]


def _on_produce(kind: str, direction: str, duration_ms: int, **params: int) -> Schedule:
    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        faults, first = [], 0
        for _ in range(TIMES):
            first += dice.between(*APART)
            match = FrameMatch("Produce", direction, first=first, partition=dice.between(0, 2))
            faults.append(FaultSpec(kind, Elapsed(0), duration_ms, params, frames=match))
        return tuple(faults)

    return drawn


def _scenario(name: str, summary: str, schedule: Schedule) -> Scenario:
    return Scenario(
        name=name,
        summary=summary,
        requirements=DELIVERY + CLOSING + EXPIRY + TRACED,
        schedule=schedule,
        consequence=consequence.hit,
        each_fault=False,
        worlds=frozenset({"live"}),
    )


LOAD_MS = 6_000

LOST_ANSWER = _scenario(
    "frame/lost-answer",
    "Three Produce answers are lost, each alone, on connections that live on.",
    _on_produce("dropped_frame", "response", LOAD_MS),
)

LOST_REQUEST = _scenario(
    "frame/lost-request",
    "Three Produce requests are lost, each alone, on connections that live on.",
    _on_produce("dropped_frame", "request", LOAD_MS),
)

LATE_ANSWER = _scenario(
    "frame/late-answer",
    "Three Produce answers come a second later than their request times out.",
    _on_produce("late_frame", "response", LOAD_MS, delay_ms=BEYOND_TIMEOUT_MS),
)

GHOST_REQUEST = _scenario(
    "frame/ghost-request",
    "Produce requests are held until their clients have given them up; then the broker gets and applies them.",
    _on_produce("held_frame", "request", BEYOND_TIMEOUT_MS),
)

TORN_ANSWER = _scenario(
    "frame/torn-answer",
    "Three Produce answers break off in the middle, with their connections.",
    _on_produce("closed_at_frame", "response", LOAD_MS, at_byte=11),
)

RESET_BEHIND_ANSWER = _scenario(
    "frame/reset-behind-answer",
    "Three connections end right behind a whole Produce answer, by RST at the broker (a proxy makes it a FIN).",
    _on_produce("closed_at_frame", "response", LOAD_MS, reset=1),
)

SLICED_ANSWERS = _scenario(
    "frame/sliced-answers",
    "Three Produce answers come byte by byte.",
    _on_produce("sliced_frame", "response", LOAD_MS, size_bytes=1, gap_us=1_000),
)

SWAPPED_ANSWERS = _scenario(
    "frame/swapped-answers",
    "Three Produce answers come behind the answer that follows them.",
    _on_produce("swapped_responses", "response", LOAD_MS),
)

DOUBLED_ANSWERS = _scenario(
    "frame/doubled-answers",
    "Three Produce answers come twice.",
    _on_produce("duplicated_response", "response", LOAD_MS),
)

STRANGE_ANSWERS = _scenario(
    "frame/strange-answers",
    "Three Produce answers have a correlation id that nobody asked with.",
    _on_produce("wrong_correlation_id", "response", LOAD_MS),
)

OLD_BROKER = _scenario(
    "frame/old-broker",
    "The first two ApiVersions answers say UNSUPPORTED_VERSION in version 0.",
    lambda dice: (FaultSpec("unsupported_version", Elapsed(0), LOAD_MS, {"count": 2}),),
)

ERROR_AFTER_APPEND = _scenario(
    "frame/error-after-append",
    "Five Produce answers say that the broker does not lead, or has too few replicas: behind an append.",
    lambda dice: (
        FaultSpec(
            "error_response",
            Elapsed(dice.between(0, LOAD_MS // 2)),
            LOAD_MS // 2,
            {"api": 0, "code": dice.choice((6, 7, 19, 20)), "count": 5, "after_append": 1},
        ),
    ),
)

THROTTLED = _scenario(
    "frame/throttled",
    "For two seconds each Produce answer says a throttle time.",
    lambda dice: (
        FaultSpec("throttle", Elapsed(1_000), 2_000, {"api": 0, "throttle_ms": dice.between(50, 400)}),
    ),
)
