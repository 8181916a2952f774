"""Consuming while the network is slow, silent, torn or down: a group reads what the harness writes meanwhile.

Traffic triggers a fault that must meet a request in transit. A fault that lasts longer than the request timeout occurs
once, and early, so that there is time after it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from harness.model.dice import Dice
from harness.model.mode import BOTH_MODES, LIVE_ONLY
from harness.model.spec import AtTime, FaultSpec, OnFrame, Workload
from harness.model.verdicts import Guarantee
from harness.wire.apis import Api
from suites.scenarios.effects import consequence, members, reading
from suites.scenarios.situation import Schedule, situation

READ: Final = Workload(kind="consume", records=1_200, records_per_command=40, params={"members": 2})
MOMENTS_MS: Final = (400, 1_800, 3_000)
GUARANTEES: Final = (Guarantee.AT_LEAST_ONCE, Guarantee.AT_MOST_ONCE)
#: What any reading member promises: nothing is passed over, records come in order, and commits name what comes next.
READING: Final = ("E2E-DEL-04", "CSM-FET-02", "CSM-OFC-06")
#: Beyond the profile's request.timeout.ms of 3 s, plus the second in which some clients check their clocks.
BEYOND_TIMEOUT_MS: Final = (4_200, 4_800)

_scenario = partial(situation, "consume", workload=READ, guarantees=GUARANTEES, modes=LIVE_ONLY)


def _once(
    kind: str, duration_ms: tuple[int, int], params: Callable[[Dice], dict[str, int]] | None = None
) -> Schedule:
    """Return a schedule with one fault, which starts at a Fetch request in the first second of the load."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        start = OnFrame("Fetch", "request", nth=dice.between(1, 3), after_ms=dice.between(300, 900))
        return (FaultSpec(kind, start, dice.between(*duration_ms), params(dice) if params else {}),)

    return drawn


def thrice(
    kind: str, duration_ms: tuple[int, int], params: Callable[[Dice], dict[str, int]] | None = None
) -> Schedule:
    """Return a schedule with three faults, each at a Fetch request."""

    def drawn(dice: Dice) -> tuple[FaultSpec, ...]:
        return tuple(
            FaultSpec(
                kind,
                OnFrame("Fetch", "request", nth=1, after_ms=at_ms + dice.between(0, 300)),
                dice.between(*duration_ms),
                params(dice) if params else {},
            )
            for at_ms in MOMENTS_MS
        )

    return drawn


DISCONNECT = _scenario(
    "disconnect",
    "Three times all connections end for half a second, while two members read.",
    thrice("disconnect", (300, 600)),
    members.cut_off,
    *READING,
    modes=BOTH_MODES,
)

DISCONNECT_ASYNC_COMMIT = _scenario(
    "disconnect-async-commit",
    "Three times all connections end, while two members commit without waiting for the results.",
    thrice("disconnect", (300, 600)),
    members.cut_off,
    *READING,
    workload=Workload(
        kind="consume", records=1_200, records_per_command=40, params={"members": 2, "commit_async": 1}
    ),
    guarantees=(Guarantee.AT_LEAST_ONCE,),
    modes=BOTH_MODES,
)

DISCONNECT_AUTO_COMMIT = _scenario(
    "disconnect-auto-commit",
    "Three times all connections end, while two members let their client commit.",
    thrice("disconnect", (300, 600)),
    members.cut_off,
    *READING,
    config={"enable.auto.commit": True},
    guarantees=(Guarantee.AT_LEAST_ONCE,),
)

DISCONNECT_ASSIGNED = _scenario(
    "disconnect-assigned",
    "Three times all connections end, while one consumer reads partitions that it has assigned to itself.",
    thrice("disconnect", (300, 600)),
    members.cut_off,
    *READING,
    "CSM-OFC-05",
    workload=Workload(
        kind="consume", records=1_200, records_per_command=40, params={"members": 1, "assign": 1}
    ),
    modes=BOTH_MODES,
)

DISCONNECT_NEW_PROTOCOL = _scenario(
    "disconnect-new-protocol",
    "Three times all connections end, while two members read in a group whose coordinator assigns (KIP-848).",
    thrice("disconnect", (300, 600)),
    members.cut_off,
    *READING,
    config={"group.protocol": "consumer"},
)

RESET = _scenario(
    "reset",
    "Three times all connections are reset with Fetch requests at rest on them.",
    thrice("reset", (300, 600)),
    reading.reconnected,
    *READING,
)

LATENCY = _scenario(
    "latency",
    "For two and a half seconds requests and answers take a sixth of a second longer each.",
    _once(
        "latency",
        (2_300, 2_700),
        lambda dice: {"upstream_ms": dice.between(120, 180), "downstream_ms": dice.between(120, 180)},
    ),
    consequence.delayed,
    *READING,
)

BANDWIDTH = _scenario(
    "bandwidth",
    "For two seconds answers arrive at a rate so low that records queue up.",
    _once(
        "bandwidth",
        (1_800, 2_200),
        lambda dice: {"downstream_bytes_per_s": dice.choice((8_000, 12_000, 16_000))},
    ),
    consequence.held_up,
    *READING,
)

SLICER = _scenario(
    "slicer",
    "For two seconds requests and answers arrive slowly in small pieces.",
    _once(
        "slicer",
        (1_800, 2_200),
        lambda dice: {"size_bytes": dice.between(48, 96), "delay_us": dice.between(4_000, 6_000)},
    ),
    consequence.held_up,
    *READING,
)

HALF_OPEN = _scenario(
    "half-open",
    "The brokers' end of every connection is gone, and members are not told for longer than the request timeout.",
    _once("half_open", BEYOND_TIMEOUT_MS),
    reading.reconnected,
    *READING,
)

PARTITION_SILENT = _scenario(
    "partition-silent",
    "For seconds all bytes are swallowed in both directions, on connections that stay open.",
    _once("partition", (2_000, 4_500)),
    consequence.held_up,
    *READING,
)

PARTITION_ANSWERS = _scenario(
    "partition-answers",
    "For seconds requests arrive, but answers do not.",
    _once("partition", (1_500, 2_500), lambda _: {"upstream": 0}),
    reading.reconnected,
    *READING,
)

PARTITION_REQUESTS = _scenario(
    "partition-requests",
    "For seconds answers to earlier requests arrive, but new requests do not.",
    _once("partition", (1_500, 2_500), lambda _: {"downstream": 0}),
    consequence.held_up,
    *READING,
)

PARTITION_BEYOND_CALLS = _scenario(
    "partition-beyond-calls",
    "For longer than a commit may take, requests arrive and answers do not.",
    _once("partition", (4_600, 5_000), lambda _: {"upstream": 0}),
    reading.reconnected,
    *READING,
    "CSM-API-04",
    config={"default.api.timeout.ms": 2_500, "request.timeout.ms": 2_000},
    modes=BOTH_MODES,
)

REFUSED = _scenario(
    "refused",
    "For two seconds or more every connection attempt is refused.",
    _once("refuse", (2_000, 3_000)),
    consequence.held_up,
    *READING,
)

CONNECT_TIMEOUT = _scenario(
    "connect-timeout",
    "For longer than the setup timeout connection attempts are neither accepted nor refused.",
    _once("connect_timeout", BEYOND_TIMEOUT_MS),
    consequence.held_up,
    *READING,
)

HUNG_UP = _scenario(
    "accept-then-close",
    "For two seconds every connection is closed at once after it is accepted, as by a proxy without its broker.",
    _once("accept_then_close", (2_000, 3_000)),
    consequence.held_up,
    *READING,
)

LATE_RESPONSES = _scenario(
    "late-responses",
    "All answers are held back for longer than the request timeout, and then arrive at once.",
    _once("late_response", BEYOND_TIMEOUT_MS),
    reading.reconnected,
    *READING,
)

DELAYED_PAST_DISCONNECT = _scenario(
    "delayed-past-disconnect",
    "All requests are held back until their client has given them up. Then the brokers receive them.",
    _once("delayed_past_disconnect", BEYOND_TIMEOUT_MS),
    consequence.held_up,
    *READING,
)

DROPPED_REQUESTS = _scenario(
    "dropped-requests",
    "Three times requests are swallowed in transit for most of a second, then the connections are closed.",
    thrice("dropped_request", (700, 900)),
    consequence.held_up,
    *READING,
    require_all_faults=False,
)

DROPPED_RESPONSES = _scenario(
    "dropped-responses",
    "Three times answers are swallowed in transit for most of a second, then the connections are closed.",
    thrice("dropped_response", (700, 900)),
    reading.reconnected,
    *READING,
)

TORN_REQUESTS = _scenario(
    "torn-requests",
    "Three times requests are cut off in transit, and their connections end there.",
    thrice("torn_frame", (250, 400), lambda dice: {"upstream": 1, "at_byte": dice.choice((1, 4, 14, 60))}),
    reading.reconnected,
    *READING,
    require_all_faults=False,
)

TORN_ANSWERS = _scenario(
    "torn-answers",
    "Three times answers are cut off in transit, and their connections end there.",
    thrice("torn_frame", (250, 400), lambda dice: {"upstream": 0, "at_byte": dice.choice((1, 4, 14, 60))}),
    reading.reconnected,
    *READING,
    require_all_faults=False,
)

THROTTLED = _scenario(
    "throttled",
    "For three seconds each Fetch answer has a throttle time of half a second or more.",
    lambda dice: (
        FaultSpec("throttle", AtTime(700), 3_000, {"api": Api.FETCH, "throttle_ms": dice.between(500, 900)}),
    ),
    reading.throttled,
    *READING,
)

OVER_QUOTA = _scenario(
    "over-quota",
    "For three seconds the members exceed their quota, and are told to hold back.",
    lambda dice: (
        FaultSpec(
            "quota",
            AtTime(dice.between(0, 300)),
            3_500,
            {"bytes_per_s": dice.between(8_000, 16_000), "fetched": 1},
        ),
    ),
    reading.throttled,
    *READING,
    exclusive_cluster=True,
)
