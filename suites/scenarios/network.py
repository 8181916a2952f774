"""Producing while the network is slow, silent, torn or down: every byte of a lane, or every connection, for a while.

As in :mod:`suites.scenarios.produce`, traffic triggers a fault that must meet a request in transit. A fault
that lasts longer than the request timeout occurs once, and early, so that there is time after it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from harness.model.dice import Dice
from harness.model.mode import LIVE_ONLY
from harness.model.spec import AtTime, FaultSpec, OnFrame, Workload
from harness.plugins.scenario import DEFAULT_WORKLOAD, Config
from suites.scenarios.effects import connections, consequence, responses
from suites.scenarios.produce import cuts
from suites.scenarios.situation import AGAIN, Schedule, situation
from suites.scenarios.windows import QUIET_START_MS, moments

LOAD_MS = DEFAULT_WORKLOAD.load_ms
#: Beyond the profile's request.timeout.ms of 3 s, plus the second in which some clients check their clocks.
BEYOND_TIMEOUT_MS = (4_200, 4_800)
#: Between two bursts nothing is in transit.
BURSTS_MS = 1_500
#: If the size of requests matters, it must not depend on compression.
UNCOMPRESSED: Config = {"compression.type": "none"}


_scenario = partial(situation, "network")


def _once(
    kind: str, duration_ms: tuple[int, int], params: Callable[[Dice], dict[str, int]] | None = None
) -> Schedule:
    """Return a schedule with one fault, which starts at a Produce request in the first seconds of the load."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        start = OnFrame("Produce", "request", nth=dice.between(1, 3), after_ms=dice.between(300, 1_000))
        return (FaultSpec(kind, start, dice.between(*duration_ms), params(dice) if params else {}),)

    return drawn


def _often(
    kind: str,
    count: int,
    duration_ms: tuple[int, int],
    params: Callable[[Dice], dict[str, int]] | None = None,
) -> Schedule:
    """Return a schedule with ``count`` faults, spread over the load."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        span_ms = (LOAD_MS - 2 * QUIET_START_MS) // count
        begins = moments(dice, count=count, span_ms=span_ms, load_ms=LOAD_MS)
        return tuple(
            FaultSpec(kind, begin, dice.between(*duration_ms), params(dice) if params else {})
            for begin in begins
        )

    return drawn


BANDWIDTH = _scenario(
    "bandwidth",
    "For two seconds requests leave at a rate so low that they queue up.",
    _once(
        "bandwidth",
        (1_800, 2_200),
        lambda dice: {"upstream_bytes_per_s": dice.choice((8_000, 12_000, 16_000))},
    ),
    consequence.slowed,
    "PRD-EXP-01",
    "NET-TMO-01",
    "NET-INF-03",
    "PRD-ACC-12",
    "PRD-SND-14",
    config=UNCOMPRESSED,
)

SLICER = _scenario(
    "slicer",
    "For two seconds requests and answers arrive slowly in small pieces.",
    _once(
        "slicer",
        (1_800, 2_200),
        lambda dice: {"size_bytes": dice.between(48, 96), "delay_us": dice.between(4_000, 6_000)},
    ),
    consequence.slowed,
    "NET-INF-10",
    "NET-INF-01",
    "PRD-SND-01",
    "PRD-ACC-12",
    config=UNCOMPRESSED,
)

TORN_REQUEST = _scenario(
    "torn-request",
    "Three times requests are cut off in transit, and their connections end there.",
    _often(
        "torn_frame",
        3,
        (250, 400),
        lambda dice: {"upstream": 1, "at_byte": dice.choice((1, 3, 4, 5, 14, 60))},
    ),
    connections.torn_requests,
    "NET-INF-06",
    "PRD-ACC-12",
    "PRD-IDM-03",
    "PRD-SND-06",
    require_all_faults=False,
)

HALF_OPEN = _scenario(
    "half-open",
    "The brokers' end of every connection is gone, and the client is not told for longer than the request timeout.",
    _once("half_open", BEYOND_TIMEOUT_MS),
    consequence.stalled,
    "NET-TMO-01",
    "NET-TMO-02",
    "NET-TMO-05",
    "PRD-IDM-03",
    "PRD-SND-06",
)

PARTITION_SILENT = _scenario(
    "partition-silent",
    "For seconds all bytes are swallowed in both directions, on connections that stay open.",
    _once("partition", (2_000, 4_500)),
    consequence.held_up,
    "NET-TMO-02",
    "PRD-EXP-01",
    "PRD-SND-06",
    "PRD-SND-14",
    "E2E-DEL-01",
)

PARTITION_ONE_WAY = _scenario(
    "partition-one-way",
    "For seconds requests arrive, but answers do not.",
    _once("partition", (1_500, 2_500), lambda _: {"upstream": 0}),
    consequence.answers_swallowed,
    "PRD-IDM-03",
    "PRD-IDM-05",
    *AGAIN,
)

REFUSED = _scenario(
    "refused",
    "For four seconds or more every connection attempt is refused.",
    _once("refuse", (4_000, 5_000)),
    consequence.held_up,
    "NET-CON-05",
    "NET-CON-06",
    "NET-CON-07",
    "MET-02",
    "PRD-SND-06",
)

CONNECT_TIMEOUT = _scenario(
    "connect-timeout",
    "For longer than the setup timeout connection attempts are neither accepted nor refused.",
    _once("connect_timeout", (4_500, 6_000)),
    consequence.held_up,
    "NET-CON-05",
    "NET-CON-08",
    "PRD-EXP-01",
    "PRD-SND-06",
)

HUNG_UP = _scenario(
    "accept-then-close",
    "For a few seconds every connection is closed at once after it is accepted, as by a proxy without its broker.",
    _once("accept_then_close", (2_000, 3_000)),
    consequence.held_up,
    "NET-CON-05",
    "NET-CON-06",
    "NET-INF-06",
    "PRD-SND-06",
    "PRD-SND-14",
)

IDLE_KILL = _scenario(
    "idle-kill",
    "Three times, between two bursts of records, idle connections are killed in the network.",
    lambda dice: tuple(
        FaultSpec(
            "idle_kill",
            AtTime(BURSTS_MS * burst + dice.between(350, 450)),
            1_000,
            {"idle_ms": dice.between(200, 500)},
        )
        for burst in (1, 3, 4)
    ),
    connections.another_way,
    "NET-CON-07",
    "NET-INF-06",
    "PRD-SND-06",
    workload=Workload(records=2_400, records_per_command=400, interval_ms=BURSTS_MS),
    modes=LIVE_ONLY,
)

LATE_RESPONSES = _scenario(
    "late-responses",
    "All answers are held back for longer than the request timeout, and then arrive at once.",
    _once("late_response", BEYOND_TIMEOUT_MS),
    consequence.answers_held_back,
    "NET-TMO-01",
    "NET-TMO-02",
    "NET-TMO-05",
    "PRD-IDM-05",
    *AGAIN,
)

DELAYED_PAST_DISCONNECT = _scenario(
    "delayed-past-disconnect",
    "All requests are held back until their client has given them up. Then the brokers receive and apply them.",
    _once("delayed_past_disconnect", BEYOND_TIMEOUT_MS),
    responses.delayed_past_disconnect,
    "NET-TMO-01",
    "PRD-IDM-03",
    "PRD-IDM-05",
    "PRD-SND-14",
    *AGAIN,
)

DROPPED_REQUESTS = _scenario(
    "dropped-requests",
    "Twice for a second requests are swallowed in transit, then the connections are closed.",
    _often("dropped_request", 2, (900, 1_300)),
    consequence.held_up,
    "PRD-SND-06",
    "PRD-SND-14",
    "NET-INF-06",
    "E2E-DEL-01",
)

RESET = _scenario(
    "reset",
    "Three times all connections are reset with requests and answers in flight on them.",
    lambda dice: cuts(dice, "reset"),
    consequence.cut_under_way,
    "NET-CON-05",
    "NET-CON-07",
    "NET-INF-06",
    "PRD-IDM-03",
    "PRD-SND-14",
    *AGAIN,
)
