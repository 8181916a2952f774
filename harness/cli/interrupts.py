"""SIGINT, SIGTERM and SIGHUP: each ends a run in good order, and none ends the writing of what came out."""

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
    """Afterwards signals do what they did before."""
    if threading.current_thread() is not threading.main_thread():  # which alone can set what signals do
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def ignore() -> None:
    """From now on signals do nothing."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


async def until_signal(work: Coroutine[Any, Any, None]) -> int | None:
    """Carry ``work`` out, or cancel it in order on a signal: then the signal's number.

    From then on signals are ignored, until :func:`restored`: what follows is to write down what came out, which is
    short. (Handlers of the event loop would go with the loop, and leave a moment in which a signal ends the process.)
    """
    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
    received: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        # Further ones come into the midst of this, and would come into the midst of the cleaning up: they do nothing.
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
