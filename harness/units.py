"""How many of one unit are another, and how many of a thing in words.

Times are counted in nanoseconds and told in milliseconds or as durations.
"""

from __future__ import annotations

import re
from typing import Final

from harness.errors import UsageError

NS_PER_MS: Final = 1_000_000
_S_PER: Final = {"h": 3_600.0, "m": 60.0, "s": 1.0}
_DURATION = re.compile(r"(?=.)(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def duration_s(text: str) -> float:
    """Seconds of ``1h30m``, ``10m``, ``90s``. UsageError for anything else: a bare number says no unit."""
    read = _DURATION.fullmatch(text)
    if read is None:
        raise UsageError(f"{text!r} is not a duration; write it as 90s, 10m or 1h30m")
    parts = zip(read.groups(), _S_PER.values(), strict=True)
    return sum(int(number) * seconds for number, seconds in parts if number is not None)


def told_s(seconds: float) -> str:
    """A duration for a person: ``45 s``, ``3 min 10 s``, ``2 h 5 min``."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3_600, whole % 3_600 // 60, whole % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def some(count: int, noun: str) -> str:
    """``1 trial``, ``2 trials``, ``1,000 trials``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
