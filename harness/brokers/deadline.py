"""Retry with short, growing pauses until an attempt succeeds or a timeout expires."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from harness.brokers.connection import NotYet
from harness.model.errors import KafkaTrialError

NO_ANSWER = "there was no answer at all"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.005, 0.05

T = TypeVar("T")


async def insist(what: str, timeout_s: float, attempt: Callable[[], Awaitable[T]]) -> T:
    """Return the first result of ``attempt`` that is not NotYet. KafkaTrialError: none within ``timeout_s``."""
    reason: NotYet | str = NO_ANSWER
    pause_s = FIRST_PAUSE_S
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                try:
                    return await attempt()
                except NotYet as not_yet:
                    reason = not_yet
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
    except TimeoutError:
        raise KafkaTrialError(
            "deadline-passed",
            "{what}: not within {timeout_s:g} s; the last reason: {why}",
            what=what,
            timeout_s=timeout_s,
            why=reason,
        ) from None
