"""How often something happened in the busiest second."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

SECOND_NS = 1_000_000_000


class Busiest(NamedTuple):
    """The number of events in the busiest second, and when that second ended. Both are 0 if there are no events."""

    times: int
    end_ns: int


def busiest_second(moments_ns: Iterable[int]) -> Busiest:
    """Return the second that contains the most of these times."""
    ordered = sorted(moments_ns)
    begin, found = 0, Busiest(0, 0)
    for index, at_ns in enumerate(ordered):
        while at_ns - ordered[begin] > SECOND_NS:
            begin += 1
        if index - begin + 1 > found.times:
            found = Busiest(index - begin + 1, at_ns)
    return found
