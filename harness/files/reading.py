"""Read stored files: only regular files of bounded size, without following a link below ``root``.

A run folder may come from anywhere. A pipe in place of a file would block its reader, a device or a link would read
something else, and a sparse file of a terabyte fits on any disk.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from harness.files import places

#: The maximum for a stored file: 100 times the evidence of an ordinary trial.
MOST_BYTES: Final = 512 * 2**20


def open_stored(path: Path, root: Path | None = None) -> int:
    """Open the regular file ``path`` for reading. Raises OSError with the file's type if it is not a regular file."""
    with places.home(path, root) as folder:
        # The check precedes the open, because opening a device can have side effects.
        _must_be_regular(os.stat(path.name, dir_fd=folder, follow_symlinks=False))
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        fd = os.open(path.name, flags, dir_fd=folder)
    try:
        _must_be_regular(os.fstat(fd))
    except OSError:
        os.close(fd)
        raise
    return fd


def read_stored(path: Path, root: Path | None = None, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a stored file. OSError: it is missing, not a regular file, too large, or growing."""
    return b"".join(stored_pieces(path, root, most_bytes, piece_bytes=most_bytes))


def stored_pieces(
    path: Path, root: Path | None = None, most_bytes: int = MOST_BYTES, piece_bytes: int = 2**20
) -> Iterator[bytes]:
    """Yield the content of a stored file, a piece at a time. OSError: as for :func:`read_stored`."""
    with os.fdopen(open_stored(path, root), "rb") as file:
        left_bytes = os.fstat(file.fileno()).st_size
        if left_bytes > most_bytes:
            raise OSError(errno.EFBIG, f"it has {left_bytes:,} bytes, and at most {most_bytes:,} are read")
        while piece := file.read(min(piece_bytes, left_bytes) + 1):
            left_bytes -= len(piece)
            if left_bytes < 0:
                raise OSError(errno.EBUSY, "it grew while it was read")
            yield piece


def tail(path: Path, most_bytes: int, root: Path | None = None) -> str:
    """Return the end of a stored text, or an empty string if there is no readable file."""
    try:
        with os.fdopen(open_stored(path, root), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - most_bytes))
            return file.read(most_bytes).decode(errors="backslashreplace")
    except OSError:
        return ""


def names(folder: Path, root: Path | None = None) -> list[str]:
    """Return the names of the regular files in a folder, sorted. Raises OSError if it cannot be listed."""
    with places.listed(folder, root) as fd, os.scandir(fd) as entries:
        return sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))


def _must_be_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, f"it is {places.kind_of(status.st_mode)}, not a regular file")
