"""Remove files and folders of any depth, without following links.

A client can leave tens of thousands of nested folders, or folders without any permissions. Each nested folder is
therefore moved to the top before it is emptied, so that three descriptors and no recursion are enough for any depth.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from harness.files import places


def remove_tree(path: Path, root: Path | None = None) -> None:
    """Remove ``path`` with everything in it. A link is removed, but not its target.

    It is not an error if ``path`` does not exist. Raises OSError if something cannot be removed.
    """
    with suppress(FileNotFoundError), places.home(path, root) as parent:
        _remove(parent, path.name)


def _remove(parent: int, name: str) -> None:
    if not _unlinked(parent, name):
        top = places.opened(parent, name)
        try:
            while names := places.entries(top):
                for each in names:
                    with suppress(FileNotFoundError):  # another process removes it as well
                        _flatten(top, each)
        finally:
            os.close(top)
        os.rmdir(name, dir_fd=parent)


def _flatten(top: int, name: str) -> None:
    """Remove the entry ``name``. Folders inside it are moved to ``top``."""
    if _unlinked(top, name):
        return
    folder = places.opened(top, name)
    try:
        for inner in places.entries(folder):
            if not _unlinked(folder, inner):
                os.close(places.opened(folder, inner))  # a folder has to be writable to be moved
                os.rename(inner, token_hex(16), src_dir_fd=folder, dst_dir_fd=top)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _unlinked(parent: int, name: str) -> bool:
    """Remove anything but a folder. Return False for a folder."""
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return True
    except IsADirectoryError:
        return False
    return True
