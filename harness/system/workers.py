"""Worker processes: calls that are spread over the machine's processors.

A pool costs about a second of processor time to start, so a small amount of work is done in this process.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import forkserver, get_context, resource_tracker
from typing import Any, Protocol

from harness.system.processes import owner_env


class Work(Protocol):
    """Calls a function for each of some arguments, and returns the results in their order."""

    def __call__(self, function: Callable[[Any], Any], arguments: Sequence[Any], /) -> Iterable[Any]: ...


def in_this_process(function: Callable[[Any], Any], arguments: Sequence[Any]) -> Iterable[Any]:
    """Make each call here, one after the other."""
    return [function(argument) for argument in arguments]


@contextmanager
def workers(count: int, preload: Sequence[str] = ()) -> Iterator[Work]:
    """Yield the work of ``count`` processes, which have imported the modules ``preload``.

    One process or fewer: this one. Calls that have not begun when the block raises are never made.
    """
    if count <= 1:
        yield in_this_process
        return
    context = get_context("forkserver")
    context.set_forkserver_preload(list(preload))
    prepare_processes()
    pool = ProcessPoolExecutor(count, mp_context=context)
    try:
        yield lambda function, arguments: list(pool.map(function, arguments))
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def prepare_processes() -> None:
    """Mark the worker processes as ours, so that none outlives us, and block signals in them.

    A signal to the whole group (Ctrl-C) would interrupt a worker in its work. The signals are blocked here, and workers
    inherit that.
    """
    os.environ.update(owner_env())
    stops = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, stops)  # the tracker's start has unblocked two of them
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
