"""Whether the harness itself kept time: its event loop carries every frame, and what it is late with looks slow.

A pulse wakes up ten times a second. Where it wakes up late, nothing that was stamped meanwhile has its own time, and
what a client did about it (a request that timed out) may be seen nowhere. Such a stretch is part of the evidence.

It looks at the wall clock as well. We order nothing by it, but clients and brokers do: setting it may make a client's
timeouts end at once, and a broker forget its producers. (Slewing moves both clocks and is no step.)
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Self

EVERY_S: Final = 0.1
#: Less than half of what two moments must be apart for the checks to have an order (500 ms).
LATE_NS: Final = 200_000_000
#: Less than any timeout of a client, and more than two readings of clocks can be apart.
STEP_NS: Final = 100_000_000


class Pulse:
    """``async with Pulse() as pulse``: afterwards ``pulse.stalls`` are ``(begin_ns, end_ns)``, monotonic, in order.

    ``stepped_ns`` is how far the wall clock was set, forward or back, since the pulse began; 0: it was not.
    """

    def __init__(
        self, clock_ns: Callable[[], int] = time.monotonic_ns, wall_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self.stalls: list[tuple[int, int]] = []
        self.stepped_ns = 0
        self._clock_ns = clock_ns
        self._wall_ns = wall_ns
        self._ahead_ns: int | None = None
        self._beating: asyncio.Task[None] | None = None

    @property
    def beats(self) -> bool:
        """False once it has ended, by whatever: then nobody knows whether time was kept."""
        return self._beating is not None and not self._beating.done()

    async def __aenter__(self) -> Self:
        self._look()
        self._beating = asyncio.create_task(self._beat())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._beating is not None
        self._look()
        self._beating.cancel()
        with suppress(asyncio.CancelledError):
            await self._beating

    async def _beat(self) -> None:
        last_ns = self._clock_ns()
        while True:
            await asyncio.sleep(EVERY_S)
            now_ns = self._clock_ns()
            self.woke(last_ns, now_ns)
            self._look()
            last_ns = now_ns

    def woke(self, last_ns: int, now_ns: int) -> None:
        """Note a stall if it woke up late; one that follows at once continues the one before."""
        if now_ns - last_ns - int(EVERY_S * 1e9) < LATE_NS:
            return
        if self.stalls and self.stalls[-1][1] == last_ns:
            last_ns = self.stalls.pop()[0]
        self.stalls.append((last_ns, now_ns))

    def looked(self, before_ns: int, wall_ns: int, after_ns: int) -> None:
        """Note a step of the wall clock, read between two readings of the other one, unless they are too far apart."""
        if after_ns - before_ns > STEP_NS // 2:
            return
        ahead_ns = wall_ns - before_ns
        if self._ahead_ns is None:
            self._ahead_ns = ahead_ns
        elif not self.stepped_ns and abs(ahead_ns - self._ahead_ns) > STEP_NS:
            self.stepped_ns = ahead_ns - self._ahead_ns

    def _look(self) -> None:
        self.looked(self._clock_ns(), self._wall_ns(), self._clock_ns())
