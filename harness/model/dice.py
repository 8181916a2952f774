"""Named random streams: every random choice of a plan is derived from ``(seed, name)``.

A stream is the SHA-256 of its seed, name and counter. The same plan is therefore drawn on every machine and Python
version, and adding a fault to one scenario changes no other stream (methodology section 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """A deterministic stream of numbers named ``name`` under ``seed``."""

    def __init__(self, seed: int, name: str) -> None:
        self._prefix = f"{seed}/{name}/".encode()
        self._drawn = 0

    def between(self, low: int, high: int) -> int:
        """Return an integer in ``[low, high]``, both ends included."""
        if high < low:
            raise ValueError(f"empty range [{low}, {high}]")
        digest = sha256(self._prefix + str(self._drawn).encode()).digest()
        self._drawn += 1
        return low + int.from_bytes(digest[:8]) % (high - low + 1)

    def choice(self, options: Sequence[T]) -> T:
        """Return one of ``options``, each equally likely."""
        return options[self.between(0, len(options) - 1)]
