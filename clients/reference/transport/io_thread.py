"""IoThread: runs the core's rounds on one thread, which waits in the selector between them.

The thread holds the producer's lock for each round and releases it to wait and to run callbacks. A slow callback
therefore delays the thread but does not block ``send``. Code that changes something under the lock wakes the thread.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic_ns

from clients.reference.producer.producer import ProducerCore
from clients.reference.transport.record_future import Waiting, contained
from clients.reference.transport.selector import SocketSelector
from clients.reference.transport.wakeup import WakeupCondition

logger = logging.getLogger("kafka-trial.reference")

LONGEST_WAIT_S = 3_600.0


def now_ms() -> int:
    """Return the core's time: monotonic, in whole milliseconds."""
    return monotonic_ns() // 1_000_000


class IoThread(threading.Thread):
    """The one thread that drives ``core`` on ``selector``. ``news`` holds the lock and is notified after every round.

    ``after_round`` is called with the lock held, then ``unlocked`` without it, and ``at_end`` after the last round.
    """

    def __init__(
        self,
        client_id: str,
        core: ProducerCore,
        selector: SocketSelector,
        news: WakeupCondition,
        waiting: Waiting,
        after_round: Callable[[], None],
        unlocked: Callable[[], None],
        at_end: Callable[[], None],
    ) -> None:
        super().__init__(name=f"kafka-producer {client_id}", daemon=True)
        self._core = core
        self._selector = selector
        self._news = news
        self._waiting = waiting
        self._after_round, self._unlocked, self._at_end = after_round, unlocked, at_end
        self._later: deque[Callable[[], None]] = deque()
        self._is_over = False

    # For other threads

    def is_current(self) -> bool:
        """Return whether the caller runs on this thread, and therefore in a callback, which must not wait."""
        return threading.current_thread() is self

    def wake(self) -> None:
        """Request another round soon. Callers do it even if needless, as it yields the interpreter to the thread."""
        self._selector.wakeup()

    def call(self, call: Callable[[], None]) -> None:
        """Run a function between two rounds, like a callback, or at once if there are no more rounds."""
        with self._news:
            is_over = self._is_over
            if not is_over:
                self._later.append(call)
                self.wake()
        if is_over:
            contained(call)

    # The thread

    def run(self) -> None:
        """Run rounds until the core is closed. An exception is a defect of the client. It ends the producer."""
        try:
            while not self._core.is_closed:
                with self._news:
                    deadline_ms = self._core.run_once(now_ms())
                    self._after_round()
                    self._news.notify_all()
                self._publish()
                if not self._core.is_closed:
                    self._selector.wait(seconds_until(deadline_ms))
        except Exception:
            logger.exception("%s failed", self.name)
            with self._news:
                self._core.force_close(now_ms())
        finally:
            with self._news:
                self._is_over = True
                self._after_round()
                self._news.notify_all()
            self._publish()
            self._selector.close_all()
            self._at_end()

    def _publish(self) -> None:
        """Write the log and run callbacks without the lock, then notify the threads that wait for them."""
        self._unlocked()
        if self._core.publish(now_ms()) and self._news.waiting:
            with self._news:
                self._news.notify_all()
        while self._later:
            contained(self._later.popleft())
        self._waiting.run_done()


def seconds_until(deadline_ms: int | None) -> float | None:
    """Return the time until a deadline of the core, at most LONGEST_WAIT_S. None if there is no deadline."""
    if deadline_ms is None:
        return None
    return min(max(deadline_ms * 1_000_000 - monotonic_ns(), 0) / 1e9, LONGEST_WAIT_S)
