"""Blocking calls without blocking: a call of the application is a generator, and its driver does the waiting.

A call yields ``Wait`` where Java's consumer would block in a poll of the network, and ``Invoke`` where it would run the
application's code. The driver runs network rounds (``ConsumerCore.run_once``) and waits for sockets during a ``Wait``,
then sends the time into the generator. It runs an ``Invoke`` on the application's thread and sends its result, or
throws its exception. The code therefore has the shape of ClassicKafkaConsumer with its timers, and real sockets and
virtual time drive the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

#: Java's Long.MAX_VALUE as a timeout: no limit.
FOREVER_MS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Wait:
    """Run at least one network round, and return not later than ``until_ms``, or early after any round.

    The driver sends the current time in ms. ``until_ms`` may be in the past: then one round runs without waiting. None
    means that only the network can bring the call on.
    """

    until_ms: int | None


@dataclass(frozen=True, slots=True)
class Invoke:
    """Run ``call`` on the application's thread without any lock: listener, callback, interceptor or deserializer."""

    call: Callable[[], Any]


Call = Generator[Wait | Invoke, Any, T]
"""A call of the application. Its return value is the call's result."""


class Clock:
    """The core's time, as of the last step of its driver. Components read it where no time is passed to them."""

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms


class Timer:
    """A limit for a call (org.apache.kafka.common.utils.Timer): ``timeout_ms`` after ``now_ms``, on the core's time."""

    def __init__(self, clock: Clock, timeout_ms: int) -> None:
        self._clock = clock
        self.timeout_ms = timeout_ms
        self.reset(timeout_ms)

    def reset(self, timeout_ms: int) -> None:
        """Start again with another timeout."""
        self.timeout_ms = timeout_ms
        self.deadline_ms = min(self._clock.now_ms + max(timeout_ms, 0), FOREVER_MS)

    @property
    def now_ms(self) -> int:
        """The core's current time."""
        return self._clock.now_ms

    @property
    def remaining_ms(self) -> int:
        """The time that is left, at least 0."""
        return max(self.deadline_ms - self._clock.now_ms, 0)

    @property
    def is_expired(self) -> bool:
        """Whether nothing is left. A timer of 0 is expired from the start."""
        return self._clock.now_ms >= self.deadline_ms


def sleep(timer: Timer, duration_ms: int) -> Call[None]:
    """Wait for ``duration_ms``, but not longer than ``timer``. Network rounds run meanwhile."""
    until_ms = min(timer.now_ms + duration_ms, timer.deadline_ms)
    while timer.now_ms < until_ms:
        yield Wait(until_ms)


def invoke(call: Callable[[], T]) -> Call[T]:
    """Run the application's code, and return its result or raise its exception."""
    result: T = yield Invoke(call)
    return result
