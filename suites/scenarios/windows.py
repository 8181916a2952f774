"""Placing faults in the load phase: windows by the clock, with quiet around them, or times triggered by traffic."""

from __future__ import annotations

from harness.model.dice import Dice
from harness.model.spec import OnFrame

#: Every client gets this long to connect, learn the cluster and send without a fault, as the trial's own control.
QUIET_START_MS = 700
#: How much load remains after the last window, so that the client also sends again without a fault.
QUIET_END_MS = 200


def windows(
    dice: Dice, *, count: int, duration_ms: tuple[int, int], gap_ms: int, load_ms: int
) -> list[tuple[int, int]]:
    """Return ``count`` windows ``(start_ms, duration_ms)`` in order of time, at least ``gap_ms`` apart.

    Durations are drawn from the given range, then the remaining room is spread over the gaps. Raise
    ValueError if the longest windows would not fit.
    """
    room = load_ms - QUIET_START_MS - QUIET_END_MS - gap_ms * (count - 1)
    if room < count * duration_ms[1]:
        raise ValueError(f"{count} windows of {duration_ms[1]} ms do not fit into {load_ms} ms of load")
    durations = [dice.between(*duration_ms) for _ in range(count)]
    spare = sorted(dice.between(0, room - sum(durations)) for _ in range(count))
    return [(QUIET_START_MS + spare[i] + sum(durations[:i]) + gap_ms * i, durations[i]) for i in range(count)]


#: Which Produce request after its time starts a fault. Any active client sends this many within a second.
REQUESTS = (1, 3)


def moments(dice: Dice, *, count: int, span_ms: int, load_ms: int) -> list[OnFrame]:
    """Return ``count`` triggers, at least ``span_ms`` apart, each when the witness sees a Produce request.

    Raise ValueError if they would not fit.
    """
    return [
        OnFrame("Produce", "request", nth=dice.between(*REQUESTS), after_ms=start_ms)
        for start_ms, _ in windows(
            dice, count=count, duration_ms=(span_ms, span_ms), gap_ms=0, load_ms=load_ms
        )
    ]
