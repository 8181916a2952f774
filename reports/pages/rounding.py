"""The times of a plot, rounded as ``round`` does. ``round`` with decimals makes a text of each number, and is slow.

In whole numbers the result is the same except for a number in the middle between two others, which is left to
``round``. A thousandth of a millisecond is the unit.
"""

from __future__ import annotations

from collections.abc import Iterable

PER_MS = 1_000
LEAST_MS = 0.01


def thousandths(durations_ns: Iterable[int]) -> list[int]:
    """Return ``round(ns / 1e6, 3)`` of each duration, in thousandths."""
    return [
        (ns + 500) // 1_000 if ns % 1_000 != 500 else round(round(ns / 1e6, 3) * PER_MS)
        for ns in durations_ns
    ]


def in_ms(whole: Iterable[int]) -> list[float]:
    """Return thousandths as milliseconds."""
    return [each / PER_MS for each in whole]


def between_ms(starts: Iterable[int], ends: Iterable[int]) -> list[float]:
    """Return ``round(max(0.01, end - start), 2)`` of each pair, in milliseconds. A logarithmic axis has no 0."""
    return [
        LEAST_MS
        if (took := end - start) < 15
        else (took + 5) // 10 / 100
        if took % 10 != 5
        else round(end / PER_MS - start / PER_MS, 2)
        for start, end in zip(starts, ends, strict=True)
    ]
