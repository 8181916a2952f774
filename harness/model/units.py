"""Unit conversion, and numbers as text for people.

Times are counted in nanoseconds and shown in milliseconds or as durations.
"""

from __future__ import annotations

import re
from typing import Final

from harness.model.errors import UsageError

NS_PER_MS: Final = 1_000_000
_MANY_HOURS: Final = 72
_S_PER: Final = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
_DURATION = re.compile(r"(?=.)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def duration_s(text: str) -> float:
    """Return the seconds of ``30d``, ``1h30m``, ``10m`` or ``90s``. Raise UsageError for others, such as ``90``."""
    read = _DURATION.fullmatch(text)
    if read is None:
        raise UsageError(
            "not-a-duration", "{text!r} is not a duration; write it as 90s, 10m, 1h30m or 30d", text=text
        )
    parts = zip(read.groups(), _S_PER.values(), strict=True)
    return sum(int(number) * seconds for number, seconds in parts if number is not None)


def told_s(seconds: float) -> str:
    """Return a duration as text: ``45 s``, ``3 min 10 s``, ``2 h 5 min``, ``31 d``."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3_600, whole % 3_600 // 60, whole % 60
    if hours >= _MANY_HOURS:
        return f"{hours // 24} d"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def told_bytes(count: int) -> str:
    """Return a size as text: ``12 B``, ``1.5 KiB``, ``30.0 GiB``."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= 1024**power:
            return f"{count / 1024**power:,.1f} {unit}"
    return f"{count} B"
