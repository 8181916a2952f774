"""How often something happened in the busiest second."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

SECOND_NS = 1_000_000_000


class Busiest(NamedTuple):
    """How often in the busiest second, and when that ended; 0 and 0 for nothing."""

    times: int
    end_ns: int


def busiest_second(moments_ns: Iterable[int]) -> Busiest:
    """The second, between any two moments, in which most of them lie."""
    ordered = sorted(moments_ns)
    begin, found = 0, Busiest(0, 0)
    for index, at_ns in enumerate(ordered):
        while at_ns - ordered[begin] > SECOND_NS:
            begin += 1
        if index - begin + 1 > found.times:
            found = Busiest(index - begin + 1, at_ns)
    return found
