"""Removes files and folders: no link is followed, and no folder is too deep.

A client can leave folders in folders by the ten thousand, or folders that deny their owner everything. So a folder is
moved up to the top before it is emptied: three descriptors and no recursion are enough for any depth.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

from harness.files import places

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(path: Path, root: Path | None = None) -> None:
    """Remove ``path`` with all that is in it; a link is removed, not what it leads to. No error if nothing is there.

    OSError: something could not be removed.
    """
    with suppress(FileNotFoundError), places.home(path, root) as parent:
        _remove(parent, path.name)


def _remove(parent: int, name: str) -> None:
    if not _unlinked(parent, name):
        top = _opened(parent, name)
        try:
            while names := places.entries(top):
                for each in names:
                    with suppress(FileNotFoundError):  # another process removes it as well
                        _flatten(top, each)
        finally:
            os.close(top)
        os.rmdir(name, dir_fd=parent)


def _flatten(top: int, name: str) -> None:
    """Remove what is at ``name``; the folders in it move to ``top``."""
    if _unlinked(top, name):
        return
    folder = _opened(top, name)
    try:
        for inner in places.entries(folder):
            if not _unlinked(folder, inner):
                os.close(_opened(folder, inner))  # to be moved, a folder has to be writable
                os.rename(inner, token_hex(16), src_dir_fd=folder, dst_dir_fd=top)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _unlinked(parent: int, name: str) -> bool:
    """Remove anything but a folder; False for a folder."""
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return True
    except IsADirectoryError:
        return False
    return True


def _opened(parent: int, name: str) -> int:
    """The folder ``name``, made accessible to its owner."""
    path = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        if os.fstat(path).st_mode & places.OWN_FOLDER != places.OWN_FOLDER:
            Path(f"/proc/self/fd/{path}").chmod(places.OWN_FOLDER)
    finally:
        os.close(path)
    return os.open(name, _FOLDER, dir_fd=parent)
