"""Laying faults into the load phase: windows by the clock, with quiet around them, or moments by the traffic."""

from __future__ import annotations

from harness.dice import Dice
from harness.spec import FrameSeen

#: Every client gets this long to connect, learn the cluster and send in peace: the trial's own control.
QUIET_START_MS = 700
#: What is left of the load after the last window, so that the client also sends again in peace.
QUIET_END_MS = 200


def windows(
    dice: Dice, *, count: int, duration_ms: tuple[int, int], gap_ms: int, load_ms: int
) -> list[tuple[int, int]]:
    """``count`` windows ``(start_ms, duration_ms)`` in order of time, at least ``gap_ms`` apart.

    Durations are drawn from the given range, then the room that is left is spread over the gaps. Raises
    ValueError if the longest windows would not fit.
    """
    room = load_ms - QUIET_START_MS - QUIET_END_MS - gap_ms * (count - 1)
    if room < count * duration_ms[1]:
        raise ValueError(f"{count} windows of {duration_ms[1]} ms do not fit into {load_ms} ms of load")
    durations = [dice.between(*duration_ms) for _ in range(count)]
    spare = sorted(dice.between(0, room - sum(durations)) for _ in range(count))
    return [(QUIET_START_MS + spare[i] + sum(durations[:i]) + gap_ms * i, durations[i]) for i in range(count)]


#: How many Produce requests lie before the first moment and between two of them. Even a client that puts all
#: partitions into one request, and is held up for seconds by each fault, sends this many during load.
REQUESTS_BETWEEN = (4, 9)


def moments(dice: Dice, count: int) -> list[FrameSeen]:
    """``count`` moments in order: each when the witness sees some later Produce request since load began."""
    found, nth = [], 0
    for _ in range(count):
        nth += dice.between(*REQUESTS_BETWEEN)
        found.append(FrameSeen("Produce", "request", nth))
    return found
