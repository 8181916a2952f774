"""SIGINT, SIGTERM and SIGHUP. Each ends a run in an orderly way; none interrupts the writing of its results."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def restored() -> Iterator[None]:
    """Restore the previous signal handlers on exit."""
    if (
        threading.current_thread() is not threading.main_thread()
    ):  # only the main thread can set signal handlers
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Interrupted(BaseException):
    """A signal asks the process to end. It is not a KeyboardInterrupt, which Typer turns into exit code 130."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def raise_all() -> None:
    """Make each of these signals raise Interrupted, so that every block cleans up."""
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            signal.signal(number, _raise)


def _raise(number: int, frame: FrameType | None) -> None:
    raise Interrupted(number)


def ignore() -> None:
    """Ignore these signals from now on.

    The handlers are functions, not ``SIG_IGN``: a signal that arrives while ``SIG_IGN`` is being set makes Python print
    "ignored due to race condition" with a traceback.
    """
    for number in SIGNALS:
        signal.signal(number, _drop)


def block() -> None:
    """Leave these signals pending until the process has ended.

    The interpreter removes handlers that are functions before it ends, and a signal would then end the process.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


def _drop(number: int, frame: FrameType | None) -> None:
    pass


async def until_signal(work: Coroutine[Any, Any, None]) -> int | None:
    """Run ``work``, or cancel it in order on a signal and return the signal's number.

    Signals are then ignored until :func:`restored` exits or the process ends, since only the short writing of results
    follows. (Handlers of the event loop would be removed with the loop, and for a moment a signal could end the
    process.)
    """
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    received: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        # Further signals arrive during cancellation or cleanup, and are ignored.
        if not received:
            received.append(number)
            loop.call_soon_threadsafe(task.cancel)

    for number in SIGNALS:
        signal.signal(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not received:
            raise
    finally:
        ignore()
    return received[0] if received else None
