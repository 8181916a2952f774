"""Record the last use of an installation, and whether it is in use, by a file that its users touch and lock.

All processes that use the installation share the lock until they end. Removal requires the exclusive lock, so that no
process starts to use an installation that is being removed.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.provision import lock_files

_held: dict[Path, int] = {}
_guard = threading.Lock()


def mark_of(place: Path) -> Path:
    """Return the path of the file beside an installation."""
    return place.with_name(f".{place.name}.used")


def hold(place: Path) -> None:
    """Record that this process uses an installation, or is about to make it, until it ends.

    Waits while another process removes the installation. Records nothing if the cache is not writable.
    """
    with _guard, suppress(OSError):
        if place not in _held:
            place.parent.mkdir(parents=True, exist_ok=True)
            mark = lock_files.opened(mark_of(place))
            fcntl.flock(mark, fcntl.LOCK_SH)
            _held[place] = mark
        os.utime(_held[place])


def release(place: Path) -> None:
    """Give up the use of an installation before this process ends."""
    with _guard:
        os.close(_held.pop(place))


@contextmanager
def alone(place: Path) -> Iterator[int]:
    """Hold the exclusive lock, so that no process can start to use the installation. BlockingIOError: it is in use."""
    mark = lock_files.opened(mark_of(place))
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield mark
    finally:
        os.close(mark)


def is_used(place: Path) -> bool:
    """Return True if a process uses an installation at the moment. Nothing is modified."""
    return lock_files.is_held(mark_of(place), by_many=True)


def last_used_s(place: Path) -> float:
    """Return the time of the last use in seconds since 1970, or that of its making. OSError: it does not exist."""
    times = [place.lstat().st_mtime]
    with suppress(FileNotFoundError):
        times.append(mark_of(place).lstat().st_mtime)
    return max(times)
