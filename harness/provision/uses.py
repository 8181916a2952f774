"""When an installation was used last, and whether it is in use: by a file beside it, touched and locked by its users.

The lock is shared by all processes that use the installation, until each of them ends. Removal takes it alone, so that
no process begins to use what is about to go.
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
    """The file beside an installation."""
    return place.with_name(f".{place.name}.used")


def hold(place: Path) -> None:
    """Say that this process uses an installation, or is about to make it, from now until it ends.

    Waits while another process removes it. In a cache that cannot be written nothing is said.
    """
    with _guard, suppress(OSError):
        if place not in _held:
            place.parent.mkdir(parents=True, exist_ok=True)
            mark = lock_files.opened(mark_of(place))
            fcntl.flock(mark, fcntl.LOCK_SH)
            _held[place] = mark
        os.utime(_held[place])


@contextmanager
def alone(place: Path) -> Iterator[int]:
    """The lock that keeps everybody else from beginning to use an installation. BlockingIOError: somebody uses it."""
    mark = lock_files.opened(mark_of(place))
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield mark
    finally:
        os.close(mark)


def is_used(place: Path) -> bool:
    """True if some process uses an installation at this moment; nothing is touched."""
    return lock_files.is_held(mark_of(place), by_many=True)


def last_used_s(place: Path) -> float:
    """Seconds since 1970; when it was made, if it was not used since. OSError: it is not there."""
    times = [place.lstat().st_mtime]
    with suppress(FileNotFoundError):
        times.append(mark_of(place).lstat().st_mtime)
    return max(times)
