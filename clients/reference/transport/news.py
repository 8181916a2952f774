"""News: the producer's lock, and the condition by which application threads wait for what the I/O thread does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")


class News(threading.Condition):
    """``waiting`` threads are in ``wait_for``; who tells news without the lock need not take it where there is none.

    A thread is counted before it looks. So it sees what was there before, or it is seen.
    """

    def __init__(self, lock: threading.RLock) -> None:
        super().__init__(lock)
        self.waiting = 0

    def wait_for(self, predicate: Callable[[], Seen], timeout: float | None = None) -> Seen:
        """With the lock held: until ``predicate`` gives something true, or what it gives after ``timeout`` seconds."""
        self.waiting += 1
        try:
            return super().wait_for(predicate, timeout)
        finally:
            self.waiting -= 1
