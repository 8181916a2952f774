"""Where a file is: its folder as a descriptor, reached from ``root`` without following a link.

What comes of the descriptor stays in that folder, also if somebody puts a link in the folder's place meanwhile.
Functions here raise OSError with a text that names what is in the way.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

OWN_FOLDER: Final = 0o700
#: Enough to reach what is in a folder, also in one that its user may not list.
_REACH: Final = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC

_KINDS: Final = {
    stat.S_IFLNK: "a link",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def kind_of(mode: int) -> str:
    """What ``st_mode`` stands for, in words: "a link", "a pipe"."""
    return _KINDS.get(stat.S_IFMT(mode), "something else")


@contextmanager
def folder(path: Path, root: Path | None = None, *, make: bool = False) -> Iterator[int]:
    """The folder ``path`` as a descriptor. Below ``root`` (default: ``path`` itself) no link is followed.

    ``make`` creates what is missing, with mode 700. Raises OSError; FileNotFoundError if the folder does not exist.
    """
    at = root or path
    fd = _root(at, make=make)
    try:
        for name in path.relative_to(at).parts:
            at /= name
            inner = _inner(fd, name, at, make=make)
            os.close(fd)
            fd = inner
        yield fd
    finally:
        os.close(fd)


@contextmanager
def listed(path: Path, root: Path | None = None) -> Iterator[int]:
    """As :func:`folder`, with a descriptor that can be listed and locked."""
    with folder(path, root) as reached:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=reached)
    try:
        yield fd
    finally:
        os.close(fd)


def entries(fd: int) -> list[str]:
    """The names in a folder that can be listed."""
    with os.scandir(fd) as found:
        return [entry.name for entry in found]


@contextmanager
def home(path: Path, root: Path | None = None, *, make: bool = False) -> Iterator[int]:
    """The folder in which ``path`` is or will be, as by :func:`folder`."""
    with folder(path.parent, root, make=make) as fd:
        yield fd


def make_folder(path: Path, root: Path | None = None) -> None:
    """Create ``path`` and what is missing above it, with mode 700; one that exists is kept. OSError."""
    with folder(path, root, make=True):
        pass


def new_folder(path: Path, root: Path | None = None) -> None:
    """Create ``path``, with mode 700, in a folder that exists or is created. FileExistsError: something is there."""
    with home(path, root, make=True) as fd:
        os.mkdir(path.name, OWN_FOLDER, dir_fd=fd)


def present(path: Path, root: Path | None = None) -> bool:
    """True if something is at ``path``: also a broken link, or a pipe. OSError: a link or a file is in the way."""
    try:
        with home(path, root) as fd:
            os.stat(path.name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _root(path: Path, *, make: bool) -> int:
    try:
        return os.open(path, _REACH)
    except FileNotFoundError:
        if not make:
            raise
    for each in (*reversed(path.parents), path):
        with suppress(FileExistsError):
            each.mkdir(OWN_FOLDER)
    return os.open(path, _REACH)


def _inner(parent: int, name: str, path: Path, *, make: bool) -> int:
    if name == "..":
        raise OSError(errno.EINVAL, f"{path} leads out of its folder")
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, OWN_FOLDER, dir_fd=parent)
    try:
        return os.open(name, _REACH | os.O_NOFOLLOW, dir_fd=parent)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        found = kind_of(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
        raise OSError(error.errno, f"{path} is {found}, not a folder") from None
