"""How much of what comes through a lane passes in one turn of the event loop, which carries the other lanes as well.

What a client may send takes seconds to read. If it came in one turn, every lane would stand still meanwhile, and what
their clients did in time would be seen too late. So a turn has time for some of it; the rest waits for the next turn,
and so does its sender.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

#: A turn that has taken so long takes nothing more.
TURN_NS = 20_000_000
#: So much is taken at a time. 32 KiB of the smallest frames take about a turn, 256 KiB of large ones next to nothing.
PIECES_BYTES = range(2**15, 2**18 + 1)


class Pace:
    """The turns of one lane."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        #: When the turn of the moment is over; None until something is taken in it.
        self._over_ns: int | None = None
        self._piece_bytes = PIECES_BYTES[0]

    def take(self, data: bytes, take: Callable[[bytes], None]) -> bytes:
        """Call ``take`` with the beginning of ``data``; what is left of it. Pieces grow while they are quick."""
        piece, rest = data[: self._piece_bytes], data[self._piece_bytes :]
        began_ns = time.monotonic_ns()
        take(piece)
        if time.monotonic_ns() - began_ns >= TURN_NS // 2:
            self._piece_bytes = PIECES_BYTES[0]
        elif rest:
            self._piece_bytes = min(2 * self._piece_bytes, PIECES_BYTES[-1])
        return rest

    def has_time(self) -> bool:
        """Whether more may be taken in this turn: there is time left, and nothing else waits for it."""
        over_ns = self._over()
        return not self._waiting and time.monotonic_ns() < over_ns

    def wait(self, take: Callable[[], None]) -> None:
        """Call ``take`` in a later turn, behind what waits already."""
        self._over()
        self._waiting.append(take)

    def _over(self) -> int:
        if self._over_ns is None:
            self._over_ns = time.monotonic_ns() + TURN_NS
            asyncio.get_running_loop().call_soon(self._next_turn)
        return self._over_ns

    def _next_turn(self) -> None:
        self._over_ns = None
        while self._waiting:
            self._waiting.popleft()()
            if time.monotonic_ns() >= self._over():
                break
