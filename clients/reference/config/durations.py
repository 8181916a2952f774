"""Durations as java.time.Duration.parse reads them: days, hours, minutes and seconds, each with its own sign."""

from __future__ import annotations

import re

_TEXT = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<days>[-+]?[0-9]+)D)?"
    r"(?P<time>T(?:(?P<hours>[-+]?[0-9]+)H)?(?:(?P<minutes>[-+]?[0-9]+)M)?"
    r"(?:(?P<seconds>[-+]?[0-9]+)(?:[.,](?P<fraction>[0-9]{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)
_SECONDS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}
_SECONDS_LIMIT = 2**63


def whole_ms(duration: str) -> int:
    """Return a duration in whole milliseconds. Raise ValueError if it is invalid, negative, or too long for Java."""
    found = _TEXT.fullmatch(duration)
    # Java refuses "P1DT", and accepts "P1Dt".
    if found is None or found["time"] == "T" or not any(found[name] for name in _SECONDS):
        raise ValueError("expected a duration such as PT1H30M")
    parts = [int(found[name] or 0) * factor for name, factor in _SECONDS.items()]
    nanos = int((found["fraction"] or "").ljust(9, "0"))
    below_zero = (found["seconds"] or "").startswith("-")
    total_ns = sum(parts) * 1_000_000_000 + (-nanos if below_zero else nanos)
    if found["sign"] == "-":
        total_ns = -total_ns
    if any(abs(part) >= _SECONDS_LIMIT for part in parts) or total_ns // 1_000_000_000 >= _SECONDS_LIMIT:
        raise ValueError("the duration is too long")
    if total_ns < 0:
        raise ValueError("expected a duration that is not negative")
    return total_ns // 1_000_000
