"""When an installation was used last, and whether it is in use: by a file beside it, touched and locked by its users.

The lock is shared by all who use the installation, until each of them ends. Who removes it has the lock alone, so that
nobody begins to use what is about to go.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_held: dict[Path, int] = {}
_guard = threading.Lock()


def mark_of(place: Path) -> Path:
    """The file beside an installation."""
    return place.with_name(f".{place.name}.used")


def hold(place: Path) -> None:
    """Say that this process uses an installation, or is about to make it, from now until it ends.

    Waits for one who is removing it. In a cache that cannot be written nothing is said.
    """
    with _guard, suppress(OSError):
        if place not in _held:
            place.parent.mkdir(parents=True, exist_ok=True)
            mark = _opened(place, os.O_CREAT)
            fcntl.flock(mark, fcntl.LOCK_SH)
            _held[place] = mark
        os.utime(_held[place])


@contextmanager
def alone(place: Path) -> Iterator[int]:
    """The lock that keeps everybody else from beginning to use an installation. BlockingIOError: somebody uses it."""
    mark = _opened(place, os.O_CREAT)
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield mark
    finally:
        os.close(mark)


def is_used(place: Path) -> bool:
    """True if some process uses an installation at this moment; nothing is touched."""
    try:
        mark = _opened(place)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(mark)
    return False


def last_used_s(place: Path) -> float:
    """Seconds since 1970; when it was made, if it was not used since. OSError: it is not there."""
    times = [place.lstat().st_mtime]
    with suppress(FileNotFoundError):
        times.append(mark_of(place).lstat().st_mtime)
    return max(times)


def _opened(place: Path, how: int = 0) -> int:
    return os.open(mark_of(place), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | how, 0o600)
