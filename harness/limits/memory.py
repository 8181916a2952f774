"""How much memory stored rows take when they are read, judged and reported: estimated from their bytes, beforehand.

A run's folder may come from anybody, and a few kilobytes of it may unpack to millions of objects. The estimate is what
the most expensive rows took that were measured, of any kind: so much for each value of the JSON, so much for each byte.
"""

from __future__ import annotations

from typing import Final

from harness.limits.meter import EVIDENCE, MIB

#: Of a run's plan, which is in memory beside the evidence: 8,000 trials.
PLAN_BYTES: Final = 160 * MIB
#: Of all verdicts of a run together: so much, and for each trial three times what an ordinary verdict is estimated at.
VERDICTS_BYTES: Final = 96 * MIB
A_VERDICT: Final = MIB // 2

A_VALUE: Final = 128
A_BYTE: Final = 5


class Room:
    """The memory that is left of ``most_bytes`` for what is read."""

    def __init__(self, most_bytes: int = EVIDENCE.base) -> None:
        self.most_bytes = most_bytes
        self.taken_bytes = 0

    @property
    def left_bytes(self) -> int:
        """No longer JSON than this can have room."""
        return (self.most_bytes - self.taken_bytes) // A_BYTE

    def take(self, data: bytes) -> None:
        """Take what this JSON needs. Crowded if there is not as much left; then nothing is taken."""
        if (taken := self.taken_bytes + needed(data)) > self.most_bytes:
            raise Crowded(f"it would take {taken:,} bytes of memory; {self.most_bytes:,} at most")
        self.taken_bytes = taken


class Crowded(Exception):
    """It holds more than may be read; the sentence says how much."""


def needed(data: bytes) -> int:
    """What this JSON takes: each value is an object, follows a comma, or comes first in an object or a list."""
    values = sum(map(data.count, (b",", b"[", b"{", b"}")))
    return A_VALUE * values + A_BYTE * len(data)
