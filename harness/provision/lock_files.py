"""Files that are there to be locked: opened without following a link, and asked whether somebody holds their lock."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def opened(file: Path, flags: int = os.O_RDWR | os.O_CREAT) -> int:
    """A descriptor to lock ``file`` by; its contents are nothing. OSError: it cannot be opened, or is a link."""
    return os.open(file, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)


def is_held(file: Path, *, by_many: bool = False) -> bool:
    """Whether somebody holds the lock of ``file`` alone, or also with others; False: there is none. OSError."""
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
