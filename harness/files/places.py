"""The folder of a file as a descriptor, reached from ``root`` without following links.

Operations on the descriptor stay in that folder, even if the path is replaced by a link meanwhile. The functions of
this module raise OSError with a message that names the obstacle.
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
#: This gives access to the entries of a folder, even of one that its user may not list.
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
    """Return the file type of an ``st_mode`` in words: "a link", "a pipe"."""
    return _KINDS.get(stat.S_IFMT(mode), "something else")


@contextmanager
def folder(path: Path, root: Path | None = None, *, make: bool = False) -> Iterator[int]:
    """Open the folder ``path`` as a descriptor. Below ``root`` (default: ``path`` itself) no link is followed.

    ``make`` creates missing folders with mode 700. Raises OSError, and FileNotFoundError if the folder does not exist.
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
    """Like :func:`folder`, but the descriptor can be listed and locked."""
    with folder(path, root) as reached:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=reached)
    try:
        yield fd
    finally:
        os.close(fd)


def opened(parent: int, name: str) -> int:
    """Open the folder ``name`` to list it, after giving its owner access to it. Raises OSError for a link."""
    path = os.open(name, _REACH | os.O_NOFOLLOW, dir_fd=parent)
    try:
        if os.fstat(path).st_mode & OWN_FOLDER != OWN_FOLDER:
            Path(f"/proc/self/fd/{path}").chmod(OWN_FOLDER)
    finally:
        os.close(path)
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


def entries(fd: int) -> list[str]:
    """Return the names in a folder opened by :func:`listed`."""
    with os.scandir(fd) as found:
        return [entry.name for entry in found]


@contextmanager
def home(path: Path, root: Path | None = None, *, make: bool = False) -> Iterator[int]:
    """Open the folder that contains ``path``, like :func:`folder`. ``path`` itself need not exist."""
    with folder(path.parent, root, make=make) as fd:
        yield fd


def make_folder(path: Path, root: Path | None = None) -> None:
    """Create ``path`` and missing parents with mode 700. An existing folder is kept. Raises OSError."""
    with folder(path, root, make=True):
        pass


def new_folder(path: Path, root: Path | None = None) -> None:
    """Create ``path`` with mode 700, and missing parents. Raises FileExistsError if something exists there."""
    with home(path, root, make=True) as fd:
        os.mkdir(path.name, OWN_FOLDER, dir_fd=fd)


def present(path: Path, root: Path | None = None) -> bool:
    """Return True if anything is at ``path``, even a broken link or a pipe.

    Raises OSError if a parent is a link or a file.
    """
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
