"""News: the producer's lock, and the condition on which application threads wait for the I/O thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")


class WakeupCondition(threading.Condition):
    """A condition that counts its ``waiting`` threads. If there are none, a notifier without the lock need not take it.

    A thread is counted before it evaluates its predicate, so it either sees the preceding change or is counted.
    """

    def __init__(self, lock: threading.RLock) -> None:
        super().__init__(lock)
        self.waiting = 0

    def wait_for(self, predicate: Callable[[], Seen], timeout: float | None = None) -> Seen:
        """Wait until ``predicate`` is true, and return its value. The caller holds the lock.

        After ``timeout`` seconds, return the predicate's last value.
        """
        self.waiting += 1
        try:
            return super().wait_for(predicate, timeout)
        finally:
            self.waiting -= 1
