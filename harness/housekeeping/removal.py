"""Removing one thing, under the lock of those who would use it; and how large it is.

``run.json`` goes last, so that a run of which something could not be removed is still known as one.
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
    """It has come into use since it was found; the sentence says by which process."""


def remove(thing: Found) -> str:
    """Remove a thing; why something of it stayed, or nothing if it is gone, by whomever. InUse: all of it stays."""
    locked, removed = _WAYS[thing.kind]
    if not os.access(
        thing.path.parent, os.W_OK | os.X_OK, effective_ids=True
    ):  # before anything is gone from it
        return f"{thing.path.parent} cannot be written"
    try:
        with locked(thing.path) as lock:
            removed(thing.path, lock)
    except BlockingIOError:
        raise InUse(runs.IN_USE if thing.kind is Kind.RUN else installed.IN_USE) from None
    except OSError as error:
        if not os.path.lexists(thing.path):
            return ""
        return f"it could not be removed whole: {error.strerror or error}"
    return ""


def look(thing: Found) -> str:
    """What would keep a thing from being removed, as far as that can be said without doing it. InUse as above.

    Only a run is locked for it, and only one that would go: while it is, no process can begin to use it.
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
    """What a folder takes on the disk, links not followed; what cannot be looked at counts for nothing."""
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
    """By the folder's descriptor: what is put in its place meanwhile is not touched."""
    root = Path(f"/proc/self/fd/{folder}")
    for name in os.listdir(folder):
        if name != RUN:
            remove_tree(root / name, root)
    os.unlink(RUN, dir_fd=folder)
    path.rmdir()


def _remove_installation(path: Path, _: int) -> None:
    """The manifest goes first: without one an installation is not used."""
    manifest.path_of(path).unlink(missing_ok=True)
    remove_tree(path, path.parent)


def _remove_cache(path: Path, _: int) -> None:
    aside = installed.aside(path)
    remove_tree(aside, aside.parent)
    path.rename(aside)
    remove_tree(aside, aside.parent)


#: For each kind, whose lock it takes, and how it goes.
_WAYS: Final[Mapping[Kind, tuple[_Locked, Callable[[Path, int], None]]]] = {
    Kind.RUN: (runs.claimed, _remove_run),
    Kind.INSTALLATION: (uses.alone, _remove_installation),
    Kind.CACHE: (lambda _: nullcontext(-1), _remove_cache),
}
