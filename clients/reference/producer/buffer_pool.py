"""BufferPool: how many bytes all batches together may hold (buffer.memory), and who gets freed memory next.

Python owns the bytes themselves. The pool only accounts for them. A send without room waits in a FIFO queue: while one
waits, later ones queue after it (PRD-ACC-09). Every grant is returned exactly once (PRD-ACC-11).

A grant may grow. Java compresses each record as it is appended and holds the result. This client holds records
uncompressed until the batch is closed. A batch that will be compressed therefore temporarily holds more than
batch.size, and accounts for it.
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
    """A place in the queue. ``granted`` is called with the grant once memory is available."""

    size_bytes: int
    granted: Granted


class BufferPool:
    """An account of ``total_bytes`` to lend."""

    def __init__(self, total_bytes: int) -> None:
        self.total_bytes = total_bytes
        self.available_bytes = total_bytes
        self.peak_bytes = 0  # the maximum that was lent at one time
        self._line: deque[Waiter] = deque()

    @property
    def waiting(self) -> int:
        """The number of waiters. If there are any, batches are sent without linger (PRD-ACC-02)."""
        return len(self._line)

    def take(self, size_bytes: int) -> Grant | None:
        """Return a grant at once, or None if others wait or too little is free."""
        if self._line or size_bytes > self.available_bytes:
            return None
        return self._lend(size_bytes)

    def _lend(self, size_bytes: int) -> Grant:
        self.available_bytes -= size_bytes
        self.peak_bytes = max(self.peak_bytes, self.total_bytes - self.available_bytes)
        return Grant(size_bytes)

    def grow(self, grant: Grant, more_bytes: int) -> bool:
        """Enlarge a grant. Return False if others wait or too little is free."""
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
        """Join the queue. Raise ValueError for more than ``total_bytes``, which could never be granted."""
        if size_bytes > self.total_bytes:
            raise ValueError(f"{size_bytes} bytes exceed the pool of {self.total_bytes}")
        waiter = Waiter(size_bytes, granted)
        self._line.append(waiter)
        return waiter

    def give_up(self, waiter: Waiter) -> None:
        """Leave the queue. The waiters after this one may then be served."""
        self._line.remove(waiter)
        self._serve()

    def give_back(self, grant: Grant) -> None:
        """Return a grant. Raise ValueError if it was returned already, which is a defect of the caller."""
        if grant.returned:
            raise ValueError(f"{grant.size_bytes} bytes were returned twice")
        grant.returned = True
        self.available_bytes += grant.size_bytes
        self._serve()

    def _serve(self) -> None:
        while self._line and self._line[0].size_bytes <= self.available_bytes:
            waiter = self._line.popleft()
            waiter.granted(self._lend(waiter.size_bytes))
