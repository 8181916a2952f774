"""Write files: under a random name in the target folder, followed by one rename."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, Final

from harness.files import places
from harness.model.errors import EnvironmentProblem

OWN_FILE: Final = 0o600
_PARTIAL: Final = ".partial"
_NEW: Final = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def new_file(path: Path, root: Path | None = None, mode: int = OWN_FILE) -> Iterator[BinaryIO]:
    """Yield a new readable and writable file, which is moved to ``path`` when the block ends without an error.

    It replaces anything at ``path`` but a folder, including a link. Missing folders are created. Raises OSError.
    """
    with places.home(path, root, make=True) as folder:
        partial = f".{token_hex(8)}{_PARTIAL}"
        fd = os.open(partial, os.O_RDWR | _NEW, mode, dir_fd=folder)
        try:
            with os.fdopen(fd, "w+b") as file:
                yield file
                file.flush()
                os.fsync(fd)
            os.rename(partial, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(partial, dir_fd=folder)
            raise


def create(path: Path) -> BinaryIO:
    """Create a file in an own folder that is not visible yet. Raises OSError if ``path`` exists."""
    return os.fdopen(os.open(path, os.O_WRONLY | _NEW, OWN_FILE), "wb")


def write_whole(path: Path, data: bytes, root: Path | None = None) -> None:
    """Write ``data`` to ``path``, completely or not at all. Raises EnvironmentProblem, for example for a full disk.

    If several processes write the same path, the last one wins.
    """
    try:
        with new_file(path, root) as file:
            file.write(data)
    except OSError as error:
        raise unwritten(path, error) from error


def unwritten(
    path: Path, error: OSError, hint: str | None = "name a writable folder with --out-dir"
) -> EnvironmentProblem:
    """Return the error for a ``path`` that could not be written."""
    return EnvironmentProblem(
        "cannot-write", "cannot write {path}: {why}", hint=hint, path=path, why=error.strerror or error
    )


def remove_partials(folder: Path) -> None:
    """Remove the partial files that a killed writer left. Nothing may be writing in the folder. Raises OSError."""
    with places.listed(folder) as fd:
        for name in places.entries(fd):
            if name.startswith(".") and name.endswith(_PARTIAL):
                os.unlink(name, dir_fd=fd)


def open_log(path: Path) -> BinaryIO:
    """Open a log for appending, and create it if it is missing. Raises OSError for a link, a pipe or a folder."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    fd = os.open(path, flags, OWN_FILE)
    if not stat.S_ISREG(mode := os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, f"it is {places.kind_of(mode)}, not a regular file")
    os.set_blocking(fd, True)
    return os.fdopen(fd, "ab", buffering=0)
