"""Remove one item under the lock of its users, and determine its size.

``run.json`` is removed last, so that a partly removed run is still recognised as a run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final

from harness.files import remove_tree
from harness.housekeeping import installed, runs
from harness.housekeeping.plan import Found, Kind
from harness.model.run_files import RUN
from harness.provision import manifest, uses

_Locked = Callable[[Path], AbstractContextManager[int]]


class InUse(Exception):
    """The item is in use since it was found. The message says by what."""


def remove(thing: Found) -> str:
    """Remove an item. Return why a part of it stayed, or "" if it is gone. InUse: all of it stays."""
    locked, removed = WAYS[thing.kind]
    if not os.access(
        thing.path.parent, os.W_OK | os.X_OK, effective_ids=True
    ):  # before any part of it is removed
        return f"{thing.path.parent} cannot be written"
    try:
        with locked(thing.path) as lock:
            removed(thing.path, lock)
    except BlockingIOError:
        raise InUse(runs.IN_USE if thing.kind is Kind.RUN else installed.IN_USE) from None
    except OSError as error:
        if not os.path.lexists(thing.path):
            return ""
        return f"it could not be removed completely: {error.strerror or error}"
    return ""


def look(thing: Found) -> str:
    """Return what would prevent the removal of an item, as far as can be checked. Raises InUse as above.

    Only a run is locked for this, and only one that would be removed. No process can start to use it during the check.
    """
    try:
        if thing.kind is Kind.RUN:
            with runs.claimed(thing.path):
                pass
    except BlockingIOError:
        raise InUse(runs.IN_USE) from None
    except OSError as error:
        return f"it cannot be removed: {error.strerror or error}"
    return ""


def size_bytes(path: Path) -> int:
    """Return the disk usage of a folder, without following links. Unreadable parts count as 0."""
    total, folders = 0, [path]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(Path(entry.path))
        except OSError:
            continue
    return total


def _remove_run(path: Path, folder: int) -> None:
    """Remove a run through the folder's descriptor, so that a replacement at its path is not affected."""
    root = Path(f"/proc/self/fd/{folder}")
    for name in os.listdir(folder):
        if name != RUN:
            remove_tree(root / name, root)
    os.unlink(RUN, dir_fd=folder)
    path.rmdir()


def _remove_installation(path: Path, _: int) -> None:
    """Remove the manifest first: without one, an installation is not used."""
    manifest.path_of(path).unlink(missing_ok=True)
    remove_tree(path, path.parent)


def _remove_cache(path: Path, _: int) -> None:
    aside = installed.aside(path)
    remove_tree(aside, aside.parent)
    path.rename(aside)
    remove_tree(aside, aside.parent)


#: Kind -> the lock for its removal, and the function that removes it.
WAYS: Final[Mapping[Kind, tuple[_Locked, Callable[[Path, int], None]]]] = {
    Kind.RUN: (runs.claimed, _remove_run),
    Kind.INSTALLATION: (uses.alone, _remove_installation),
    Kind.CACHE: (lambda _: nullcontext(-1), _remove_cache),
}
