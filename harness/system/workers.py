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

from harness.system.interpreter import collect_rarely
from harness.system.processes import owner_env

SAFE_PATH = "PYTHONSAFEPATH"


class Work(Protocol):
    """Begins to call a function for each of some arguments. The results come in their order, each when it is there."""

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
    prepare_processes(preload)
    pool = ProcessPoolExecutor(count, mp_context=get_context("forkserver"), initializer=collect_rarely)
    try:
        yield pool.map
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def prepare_processes(preload: Sequence[str] = ()) -> None:
    """Start the process from which worker processes are forked. It imports the modules ``preload`` meanwhile.

    Worker processes are marked as ours, so that none outlives us. A signal to the whole group (Ctrl-C) would interrupt
    a worker in its work. So the signals are blocked here, and workers inherit that. Modules come from where ours do:
    Python would look for them in the working folder first, which may be anyone's.
    """
    get_context("forkserver").set_forkserver_preload(list(preload))
    os.environ.update(owner_env())
    is_safe = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    stops = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    try:
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, stops)  # the tracker's start has unblocked two of them
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if is_safe is None:
            del os.environ[SAFE_PATH]
        else:
            os.environ[SAFE_PATH] = is_safe
