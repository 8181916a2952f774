"""Lock files: open them without following a link, and check whether their lock is held."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def opened(file: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int:
    """Open ``file`` for locking. Its content is irrelevant. Raises OSError if that fails, or if it is a link."""
    return os.open(file, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)


def is_held(file: Path, *, by_many: bool = False) -> bool:
    """Return whether a process holds the exclusive lock of ``file``, or with ``by_many`` also a shared one.

    Returns False if the file does not exist. Raises OSError.
    """
    try:
        lock = opened(file, os.O_RDWR if by_many else os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, (fcntl.LOCK_EX if by_many else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False
