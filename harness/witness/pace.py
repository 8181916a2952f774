"""Limit how much of a lane's data passes in one turn of the event loop, which also serves the other lanes.

Reading all that a client may send takes seconds. In a single turn this would stop every lane meanwhile, and the timely
actions of their clients would be observed too late. A turn therefore processes data for a limited time. The rest waits
for the next turn, and the sender is paused.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

#: A turn that has taken this long processes no more data.
TURN_NS = 20_000_000
#: The size of a piece. 32 KiB of the smallest frames take about one turn; 256 KiB of large frames take almost no time.
PIECES_BYTES = range(2**15, 2**18 + 1)


class Pace:
    """The turns of one lane: how long one takes, the least and the most bytes of a piece, and the clock."""

    def __init__(
        self,
        turn_ns: int = TURN_NS,
        pieces_bytes: range = PIECES_BYTES,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._turn_ns, self._pieces_bytes, self._now_ns = turn_ns, pieces_bytes, now_ns
        self._waiting: deque[Callable[[], None]] = deque()
        #: The end of the current turn, or None until data is processed in it.
        self._over_ns: int | None = None
        self._piece_bytes = pieces_bytes[0]

    def take(self, data: bytes, take: Callable[[bytes], None]) -> bytes:
        """Call ``take`` with the beginning of ``data`` and return the rest. Pieces grow while calls are fast."""
        piece, rest = data[: self._piece_bytes], data[self._piece_bytes :]
        began_ns = self._now_ns()
        take(piece)
        if self._now_ns() - began_ns >= self._turn_ns // 2:
            self._piece_bytes = self._pieces_bytes[0]
        elif rest:
            self._piece_bytes = min(2 * self._piece_bytes, self._pieces_bytes[-1])
        return rest

    def has_time(self) -> bool:
        """Return whether this turn may process more: it has time left, and nothing else waits for it."""
        over_ns = self._over()
        return not self._waiting and self._now_ns() < over_ns

    def wait(self, take: Callable[[], None]) -> None:
        """Call ``take`` in a later turn, after the calls that wait already."""
        self._over()
        self._waiting.append(take)

    def _over(self) -> int:
        if self._over_ns is None:
            self._over_ns = self._now_ns() + self._turn_ns
            asyncio.get_running_loop().call_soon(self._next_turn)
        return self._over_ns

    def _next_turn(self) -> None:
        self._over_ns = None
        while self._waiting:
            self._waiting.popleft()()
            if self._now_ns() >= self._over():
                break
