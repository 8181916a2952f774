"""BufferPool: how many bytes all batches together may hold (buffer.memory), and who is next when they are held.

Python owns the bytes themselves; the pool is the account of them. Who finds no room waits in line, and nobody
overtakes: while somebody waits, newcomers wait behind (PRD-ACC-09). Every grant is given back exactly once
(PRD-ACC-11).

A grant may grow: Java compresses records as they come and holds what is left of them, this client holds them as they
are until the batch is closed. So a batch that is to be compressed holds more than batch.size for a while, and says so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

Granted = Callable[["Grant"], None]


@dataclass(slots=True, eq=False)
class Grant:
    """Bytes lent to one batch."""

    size_bytes: int
    returned: bool = False


@dataclass(slots=True, eq=False)
class Waiter:
    """A place in line; ``granted`` is called with the grant when its turn has come."""

    size_bytes: int
    granted: Granted


class BufferPool:
    """``total_bytes`` to lend."""

    def __init__(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes
        self.available_bytes = total_bytes
        self.peak_bytes = 0  # the most that was lent at one time
        self._line: deque[Waiter] = deque()

    @property
    def waiting(self) -> int:
        """How many are in line; while anybody is, batches are sent without linger (PRD-ACC-02)."""
        return len(self._line)

    def take(self, size_bytes: int) -> Grant | None:
        """A grant at once, or None where others wait or too little is free."""
        if self._line or size_bytes > self.available_bytes:
            return None
        return self._lend(size_bytes)

    def _lend(self, size_bytes: int) -> Grant:
        self.available_bytes -= size_bytes
        self.peak_bytes = max(self.peak_bytes, self.total_bytes - self.available_bytes)
        return Grant(size_bytes)

    def grow(self, grant: Grant, more_bytes: int) -> bool:
        """Lend a grant more, as if it were a newcomer; False where there is none."""
        if grant.returned:
            raise ValueError("a grant that was returned cannot grow")
        if self._line or more_bytes > self.available_bytes:
            return False
        self.available_bytes -= more_bytes
        grant.size_bytes += more_bytes
        return True

    def shrink(self, grant: Grant, size_bytes: int) -> None:
        """Take back what a grant has beyond ``size_bytes``."""
        if grant.returned:
            raise ValueError("a grant that was returned cannot shrink")
        if grant.size_bytes > size_bytes:
            self.available_bytes += grant.size_bytes - size_bytes
            grant.size_bytes = size_bytes
            self._serve()

    def wait(self, size_bytes: int, granted: Granted) -> Waiter:
        """Get in line. What could never be granted must not wait: callers check ``total_bytes``."""
        if size_bytes > self.total_bytes:
            raise ValueError(f"{size_bytes} bytes can never be had from {self.total_bytes}")
        waiter = Waiter(size_bytes, granted)
        self._line.append(waiter)
        return waiter

    def give_up(self, waiter: Waiter) -> None:
        """Leave the line; whoever was behind may be next now."""
        self._line.remove(waiter)
        self._serve()

    def give_back(self, grant: Grant) -> None:
        """Return a grant; a second time is a defect of the caller."""
        if grant.returned:
            raise ValueError(f"{grant.size_bytes} bytes were returned twice")
        grant.returned = True
        self.available_bytes += grant.size_bytes
        self._serve()

    def _serve(self) -> None:
        while self._line and self._line[0].size_bytes <= self.available_bytes:
            waiter = self._line.popleft()
            waiter.granted(self._lend(waiter.size_bytes))
