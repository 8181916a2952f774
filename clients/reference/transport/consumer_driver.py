"""ConsumerDriver: runs the calls of one consumer on real sockets, and its rounds while there is no call.

The application's thread runs rounds itself while it is in a call, as in Java. Between calls a background thread runs
one at least every retry.backoff.ms. It is Java's heartbeat thread: heartbeats and rebalances do not depend on how long
the application works on records. One lock covers every step. The application's own code runs without it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from clients.reference.common.earliest import earliest
from clients.reference.consumer.calls import Call, Wait
from clients.reference.consumer.consumer import ConsumerCore
from clients.reference.consumer.errors import ConcurrentModificationError
from clients.reference.transport.io_thread import now_ms, seconds_until
from clients.reference.transport.selector import SocketSelector

T = TypeVar("T")
logger = logging.getLogger("kafka-trial.reference")


class _Use:
    """A context in which one thread uses the consumer, which may enter it again (CSM-API-03).

    Entering it raises ConcurrentModificationError if another thread is in it.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._user: int | None = None
        self._depth = 0

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._guard:
            if self._user not in (None, me):
                raise ConcurrentModificationError(
                    "consumer-used-twice", "another thread is using this consumer, which serves one at a time"
                )
            self._user = me
            self._depth += 1

    def __exit__(self, *raised: object) -> None:
        with self._guard:
            self._depth -= 1
            if not self._depth:
                self._user = None


class ConsumerDriver(threading.Thread):
    """Drives ``core`` on ``selector``. The thread is the background one, with a round at least every ``round_ms``.

    ``after_step`` is called with the lock held after each round and each call.
    """

    def __init__(
        self,
        client_id: str,
        core: ConsumerCore,
        selector: SocketSelector,
        round_ms: int,
        after_step: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(name=f"kafka-consumer {client_id}", daemon=True)
        self._core = core
        self._selector = selector
        self._after_step = after_step
        self._longest_s = round_ms / 1000
        self._turn = threading.Condition(threading.RLock())
        self.use = _Use()
        self._is_over = False
        self._is_woken = False

    # Calls

    def now(self, call: Callable[[], T]) -> T:
        """Run a method of the core that does not wait."""
        with self.use, self._turn:
            self._core.at(now_ms())
            try:
                return call()
            finally:
                self._after_step()

    def run_call(self, call: Call[T]) -> T:
        """Run a call of the core to its end, and return its result or raise its exception.

        Ctrl-C during a wait is raised in the call, which leaves the consumer in order before it ends.
        """
        with self.use:
            try:
                return self._run_call(call)
            finally:
                with self._turn:
                    self._after_step()

    def _run_call(self, call: Call[T]) -> T:
        value: Any = None
        error: BaseException | None = None
        while True:
            with self._turn:
                self._core.at(now_ms())
                try:
                    step = call.send(value) if error is None else call.throw(error)
                except StopIteration as end:
                    if self._core.has_unsent:
                        self._core.run_once(now_ms())
                    result: T = end.value
                    return result
                value = error = None
                if isinstance(step, Wait):
                    try:
                        value = self._wait(step.until_ms)
                    except BaseException as raised:
                        error = raised
                    continue
            try:
                value = step.call()
            except BaseException as raised:
                error = raised

    def _wait(self, until_ms: int | None) -> int:
        """Run rounds and wait for sockets, until one has brought something or ``until_ms`` is reached."""
        before = self._core.progress
        due_ms = self._core.run_once(now_ms())
        if self._core.progress != before or self._is_woken:
            self._is_woken = False
            return now_ms()
        self._selector.wait_for_news(seconds_until(earliest(until_ms, due_ms)))
        moment_ms = now_ms()
        self._core.run_once(moment_ms)
        self._after_step()
        return moment_ms

    def wake(self) -> None:
        """End a wait, the current or the next one. May be called from any thread.

        The flag is for a round between the call's last look at its wakeup and the selector's wait: it empties the
        selector's own queue of wakeups.
        """
        self._is_woken = True
        self._selector.wakeup()

    # The background thread

    def run(self) -> None:
        """Run a round now and then while the application is not in a call. A defect ends the rounds and is logged."""
        due_ms: int | None = None
        with self._turn:
            while not self._is_over:
                self._turn.wait(min(self._longest_s, seconds_until(due_ms) or self._longest_s))
                if self._is_over:
                    return
                try:
                    self._selector.wait(0)
                    due_ms = self._core.run_once(now_ms())
                    self._after_step()
                except Exception:
                    logger.exception("%s failed", self.name)
                    return

    def end(self) -> None:
        """End the background thread, and close all sockets."""
        with self._turn:
            self._is_over = True
            self._turn.notify_all()
        if threading.current_thread() is not self:
            self.join()
        self._selector.close_all()
