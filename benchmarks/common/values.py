"""The values that are written and read. Standard library only."""

from __future__ import annotations

import random

DISTINCT = 4_096


def values(size_bytes: int) -> list[bytes]:
    """Return values that compress like real records with lz4: half is random, and half is repeated text."""
    dice = random.Random(7)
    half = size_bytes // 2
    words = (b'{"sensor":"kitchen","unit":"celsius","reading":' * (half // 40 + 1))[: size_bytes - half]
    return [words + dice.randbytes(half) for _ in range(DISTINCT)]
