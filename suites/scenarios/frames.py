"""Producing while single frames meet a fault at the witness: a lost, late or duplicated answer, or a delayed request.

Each fault names its frames by number on one partition, counted from the beginning of the load, so that every
client meets it at the same frame.
"""

from __future__ import annotations

from functools import partial

from harness.model.dice import Dice
from harness.model.mode import LIVE_ONLY
from harness.model.spec import AtTime, FaultSpec, FrameMatch, Workload
from suites.scenarios.effects import connections, responses
from suites.scenarios.situation import AGAIN, Schedule, situation

#: Three faults, spread over the load, each at least this many frames of its kind after the previous ones.
TIMES = 3
APART = (3, 9)
#: Beyond the profile's request.timeout.ms of 3 s, within its delivery.timeout.ms of 30 s.
BEYOND_TIMEOUT_MS = 4_000
LOAD_MS = 6_000
#: A frame held from the first half of the load on is held for longer than any client waits.
HELD_MS = 8_000
#: So many partitions that those of one broker share its connection, even with three brokers.
SHARED = Workload(partitions=9)


def _on_produce(
    kind: str, direction: str, duration_ms: int, *, times: int = TIMES, **params: int
) -> Schedule:
    """Return a schedule of faults on single Produce frames, each of one partition."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        faults, first = [], 0
        for _ in range(times):
            first += dice.between(*APART)
            match = FrameMatch("Produce", direction, first=first, partition=dice.between(0, 2))
            faults.append(FaultSpec(kind, AtTime(0), duration_ms, params, frames=match))
        return tuple(faults)

    return drawn


_scenario = partial(situation, "frame", require_all_faults=False, modes=LIVE_ONLY)


LOST_ANSWER = _scenario(
    "lost-answer",
    "Three Produce answers are lost, each alone, on connections that stay open.",
    _on_produce("dropped_frame", "response", LOAD_MS),
    responses.unanswered,
    "NET-TMO-01",
    "NET-TMO-02",
    "NET-INF-01",
    "PRD-IDM-05",
    *AGAIN,
)

LOST_REQUEST = _scenario(
    "lost-request",
    "Three Produce requests are lost, each alone, on connections that stay open.",
    _on_produce("dropped_frame", "request", LOAD_MS),
    responses.unasked,
    "NET-TMO-01",
    "NET-TMO-02",
    "PRD-IDM-07",
    "PRD-SND-06",
    "PRD-SND-14",
)

LATE_ANSWER = _scenario(
    "late-answer",
    "Three Produce answers arrive a second after their request has timed out.",
    _on_produce("late_frame", "response", LOAD_MS, delay_ms=BEYOND_TIMEOUT_MS),
    responses.overdue,
    "NET-TMO-01",
    "NET-TMO-05",
    "PRD-IDM-05",
    *AGAIN,
)

TIMEOUT_WITH_ANSWERS_IN_FLIGHT = _scenario(
    "timeout-with-answers-in-flight",
    "One Produce answer is later than its timeout, and so are those of the requests after it.",
    _on_produce("late_frame", "response", LOAD_MS, times=1, delay_ms=BEYOND_TIMEOUT_MS),
    responses.left_behind,
    "NET-TMO-01",
    "NET-TMO-02",
    "NET-INF-06",
    "PRD-IDM-05",
    "PRD-IDM-07",
    "PRD-SND-14",
    workload=SHARED,
    needs_in_flight=2,
)

DELAYED_PAST_DISCONNECT = _scenario(
    "delayed-past-disconnect",
    "Produce requests are held until their clients have given them up. Then the broker receives and applies them.",
    _on_produce("held_frame", "request", HELD_MS),
    responses.delayed_past_disconnect,
    "NET-TMO-01",
    "PRD-IDM-03",
    "PRD-IDM-05",
    "PRD-SND-14",
    *AGAIN,
)

TORN_ANSWER = _scenario(
    "torn-answer",
    "Three Produce answers break off in the middle, with their connections.",
    _on_produce("close_at_frame", "response", LOAD_MS, at_byte=11),
    responses.unanswered,
    "NET-INF-06",
    "NET-INF-10",
    "PRD-IDM-05",
    *AGAIN,
)

RESET_BEHIND_ANSWER = _scenario(
    "reset-behind-answer",
    "Three connections end right after a whole Produce answer, by RST at the broker (a proxy makes it a FIN).",
    _on_produce("close_at_frame", "response", LOAD_MS, reset=1),
    connections.another_way,
    "NET-CON-07",
    "NET-INF-06",
    "PRD-SND-01",
    "E2E-DEL-02",
    "E2E-DEL-03",
)

SLICED_ANSWERS = _scenario(
    "sliced-answers",
    "Three Produce answers arrive byte by byte.",
    _on_produce("sliced_frame", "response", LOAD_MS, size_bytes=1, gap_us=1_000),
    responses.in_pieces,
    "NET-INF-01",
    "NET-INF-10",
    "PRD-SND-01",
)

SWAPPED_ANSWERS = _scenario(
    "swapped-answers",
    "Three Produce answers arrive after the answer that follows them.",
    _on_produce("swapped_responses", "response", LOAD_MS),
    responses.out_of_turn,
    "NET-INF-01",
    "PRD-SND-01",
    "E2E-DEL-02",
    workload=SHARED,
    needs_in_flight=2,
)

DOUBLED_ANSWERS = _scenario(
    "doubled-answers",
    "Three Produce answers arrive twice.",
    _on_produce("duplicated_response", "response", LOAD_MS),
    responses.doubled,
    "NET-INF-01",
    "PRD-SND-01",
    "E2E-DEL-02",
)

STRANGE_ANSWERS = _scenario(
    "strange-answers",
    "Three Produce answers have a correlation id that no request used.",
    _on_produce("wrong_correlation_id", "response", LOAD_MS),
    responses.from_nobody,
    "NET-INF-01",
    "NET-INF-06",
    "PRD-SND-06",
    "E2E-DEL-02",
)
