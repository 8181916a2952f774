"""Files that the user names: links are followed, and pipes and devices are used as such.

``--junit /dev/stdout``, ``--summary >(tee x)`` and a link into a shared folder therefore work as in a shell. A regular
file is still replaced in one step. It keeps its mode, and a link to it stays.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from harness.files.reading import MOST_BYTES
from harness.files.writing import new_file, unwritten
from harness.model.errors import UsageError

#: The number of links that the kernel follows.
MOST_LINKS: Final = 40
#: The umask decides which other users may read it.
ORDINARY: Final = 0o666


def must_be_file(path: Path) -> None:
    """Raise UsageError if ``path`` is a folder or invalid, before a long run tries to write there."""
    try:
        is_folder = path.is_dir()
    except OSError as error:
        raise UsageError(
            "path-not-file", "{path} cannot be a file: {why}", path=path, why=error.strerror or error
        ) from error
    if is_folder:
        raise UsageError("path-is-folder", "{path} is a folder", hint="name a file in it", path=path)


def write_named(path: Path, data: bytes) -> None:
    """Write to the path that the user named. UsageError: a folder. EnvironmentProblem: it cannot be written."""
    must_be_file(path)
    try:
        if (stream := _own_stream(path)) is not None:
            _pour(stream, data)
        elif _is_stream(path):
            fd = os.open(path, os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC)
            try:
                _pour(fd, data)
            finally:
                os.close(fd)
        else:
            _replace(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise unwritten(path, error, hint="name another file") from error


def read_named(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Read what the user named, even a pipe. Raises OSError, also for more than ``most_bytes``."""
    with path.open("rb") as file:
        size_bytes = os.fstat(file.fileno()).st_size
        # A pipe or a device has no size. Reading in chunks takes no more memory than there is data.
        chunks, read_bytes = [], 0
        while size_bytes <= most_bytes and (chunk := file.read(2**20)):
            chunks.append(chunk)
            if (read_bytes := read_bytes + len(chunk)) > most_bytes:
                size_bytes = read_bytes
    if size_bytes > most_bytes:
        raise OSError(errno.EFBIG, f"it is longer than {most_bytes:,} bytes")
    return b"".join(chunks)


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path, mode=ORDINARY) as file:
        with suppress(FileNotFoundError):
            os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
        file.write(data)


def _own_stream(path: Path) -> int | None:
    """Return this process's descriptor that ``path`` refers to, as ``/dev/stdout`` does, or None.

    The descriptor is used directly. Opening the path again would start at the beginning of a file to which stdout is
    redirected.
    """
    at = Path.cwd() / path
    for _ in range(MOST_LINKS):
        folder = Path(os.path.realpath(at.parent))
        if folder == Path(f"/proc/{os.getpid()}/fd") and at.name.isdecimal():
            return int(at.name)
        at = folder / at.name
        if not at.is_symlink():
            return None
        at = folder / at.readlink()
    return None


def _is_stream(path: Path) -> bool:
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def _pour(fd: int, data: bytes) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(fd, left) :]
        except BlockingIOError:
            ready = select.poll()
            ready.register(fd, select.POLLOUT)
            ready.poll()
