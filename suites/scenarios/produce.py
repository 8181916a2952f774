"""Producing while the network misbehaves: 2,400 keyed records over six seconds, several partitions, acks=all.

A fault that must meet a request in transit is triggered by the number of a Produce request, not by the clock.
It meets every client at the same place, however fast the client or the machine is. The same seed gives every
client and both guarantees the same schedule.
"""

from __future__ import annotations

from harness.model.dice import Dice
from harness.model.spec import AtTime, FaultSpec
from harness.plugins.scenario import DEFAULT_WORKLOAD, Scenario
from suites.scenarios.effects import consequence
from suites.scenarios.situation import AGAIN
from suites.scenarios.windows import moments, windows

LOAD_MS = DEFAULT_WORKLOAD.load_ms


def _calm(_: Dice) -> tuple[FaultSpec, ...]:
    return ()


def _latency(dice: Dice) -> tuple[FaultSpec, ...]:
    spans = windows(dice, count=2, duration_ms=(1_200, 1_800), gap_ms=500, load_ms=LOAD_MS)
    return tuple(
        FaultSpec(
            kind="latency",
            start=AtTime(start_ms),
            duration_ms=duration_ms,
            params={"upstream_ms": dice.between(50, 250), "downstream_ms": dice.between(50, 250)},
        )
        for start_ms, duration_ms in spans
    )


def cuts(dice: Dice, kind: str) -> tuple[FaultSpec, ...]:
    """Return three faults that end all connections, each with something in transit."""
    # On loopback a request is answered within a millisecond, and a cut would affect nothing in flight. The
    # added upstream latency is longer than the time between two commands, so a later request is in transit
    # whenever one reaches the broker.
    bed = FaultSpec(
        kind="latency",
        start=AtTime(200),
        duration_ms=LOAD_MS - 300,
        params={"upstream_ms": dice.between(200, 300), "downstream_ms": dice.between(60, 120)},
    )
    ends = moments(dice, count=3, span_ms=1_200, load_ms=LOAD_MS)
    return (bed, *(FaultSpec(kind, moment, dice.between(0, 200)) for moment in ends))


def _dropped_response(dice: Dice) -> tuple[FaultSpec, ...]:
    begins = moments(dice, count=3, span_ms=1_600, load_ms=LOAD_MS)
    return tuple(FaultSpec("dropped_response", moment, dice.between(600, 1_000)) for moment in begins)


CALM = Scenario(
    name="produce/calm",
    summary="No fault at all. A client that makes a mistake here makes it everywhere.",
    schedule=_calm,
    consequence=consequence.traffic,
    exercises=("NET-CON-01", "PRD-IDM-02", "PRD-SND-01", "PRD-CLS-01", "PRD-CLS-03"),
)

LATENCY = Scenario(
    name="produce/latency",
    summary="Twice for a second or two, every byte takes 50 to 250 ms longer in each direction.",
    schedule=_latency,
    consequence=consequence.delayed,
    exercises=("NET-INF-03", "PRD-IDM-04", "PRD-SND-14", "PRD-SND-16"),
)

DISCONNECT = Scenario(
    name="produce/disconnect",
    summary="Three times all connections are closed with requests and answers in flight on them.",
    schedule=lambda dice: cuts(dice, "disconnect"),
    consequence=consequence.cut_under_way,
    exercises=("NET-CON-05", "NET-CON-07", "NET-INF-06", "PRD-IDM-03", "PRD-SND-14", *AGAIN),
)

DROPPED_RESPONSE = Scenario(
    name="produce/dropped-response",
    summary="Three times the broker's answers are swallowed for up to a second, then the connections are closed.",
    schedule=_dropped_response,
    consequence=consequence.answers_dropped,
    exercises=("PRD-IDM-03", "PRD-IDM-05", *AGAIN),
)
