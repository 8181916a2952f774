"""Estimate the memory that stored rows take when they are read, judged and reported, before they are decoded.

A run's folder may come from anyone, and a few kilobytes of it may decode to millions of objects. The estimate assumes
the most expensive rows of any kind that were measured: a fixed amount for each JSON value, and another for each byte.
"""

from __future__ import annotations

from typing import Final

from harness.limits.meter import EVIDENCE, MIB
from harness.text.sentences import Coded

#: The limit for a run's plan, which is in memory together with the evidence: 8,000 trials.
PLAN_BYTES: Final = 160 * MIB
#: The limit for all verdicts of a run: this base, plus three times the estimate of an ordinary verdict per trial.
VERDICTS_BYTES: Final = 96 * MIB
A_VERDICT: Final = MIB // 2

A_VALUE: Final = 128
A_BYTE: Final = 5


class Room:
    """The part of ``most_bytes`` of memory that is still available for reading."""

    def __init__(self, most_bytes: int = EVIDENCE.base) -> None:
        self.most_bytes = most_bytes
        self.taken_bytes = 0

    @property
    def left_bytes(self) -> int:
        """The maximum length of JSON that can still fit."""
        return (self.most_bytes - self.taken_bytes) // A_BYTE

    def take(self, data: bytes) -> None:
        """Reserve the memory for this JSON. Raises Crowded, and reserves nothing, if it does not fit."""
        if (taken := self.taken_bytes + needed(data)) > self.most_bytes:
            raise Crowded(
                "memory-exceeded",
                "it would take {taken:,} bytes of memory; {most_bytes:,} at most",
                taken=taken,
                most_bytes=self.most_bytes,
            )
        self.taken_bytes = taken


class Crowded(Coded):
    """The data exceeds the memory for reading. The message contains the amount."""


def needed(data: bytes) -> int:
    """Return the estimate for this JSON: each value is an object, follows a comma, or is first in an object or list."""
    values = len(data) - len(data.translate(None, b",[{}"))
    return A_VALUE * values + A_BYTE * len(data)
