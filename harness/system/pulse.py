"""Measure whether the harness itself kept time: its event loop handles every frame, and its delays distort evidence."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Self

EVERY_S: Final = 0.1
#: The name of the task that measures.
TASK: Final = "pulse"
#: Less than half of the distance that the checks require to order two events (500 ms).
LATE_NS: Final = 200_000_000
#: Less than any timeout of a client, and more than the distance between two clock readings.
STEP_NS: Final = 100_000_000


class Pulse:
    """``async with Pulse() as pulse``: afterwards ``pulse.stalls`` lists (begin_ns, end_ns), monotonic and sorted.

    ``stepped_ns`` is how far the wall clock was set forward or back during the pulse, or 0.
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
        """False once the pulse has ended for any reason. It is then unknown whether time was kept."""
        return self._beating is not None and not self._beating.done()

    async def __aenter__(self) -> Self:
        self._look()
        self._beating = asyncio.create_task(self._beat(), name=TASK)
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
        """Record a stall if the pulse woke up late. It is merged with a stall that it directly follows."""
        if now_ns - last_ns - int(EVERY_S * 1e9) < LATE_NS:
            return
        if self.stalls and self.stalls[-1][1] == last_ns:
            last_ns = self.stalls.pop()[0]
        self.stalls.append((last_ns, now_ns))

    def looked(self, before_ns: int, wall_ns: int, after_ns: int) -> None:
        """Record a step of the wall clock, which was read between two readings of the monotonic clock.

        The reading is ignored if these two are too far apart.
        """
        if after_ns - before_ns > STEP_NS // 2:
            return
        ahead_ns = wall_ns - before_ns
        if self._ahead_ns is None:
            self._ahead_ns = ahead_ns
        elif not self.stepped_ns and abs(ahead_ns - self._ahead_ns) > STEP_NS:
            self.stepped_ns = ahead_ns - self._ahead_ns

    def _look(self) -> None:
        self.looked(self._clock_ns(), self._wall_ns(), self._clock_ns())
