"""Removing one thing, under the lock of those who would use it; and how large it is.

``run.json`` goes last, so that a run of which something could not be removed is still known as one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final

from harness.housekeeping import installed, runs
from harness.housekeeping.plan import Found, Kind
from harness.provision import uses
from harness.store import RUN


def remove(thing: Found) -> str:
    """Remove a thing; why it stayed, or something of it did, and nothing if it went."""
    locked, removed = _WAYS[thing.kind]
    try:
        with locked(thing.path):
            removed(thing.path)
    except BlockingIOError:
        return runs.IN_USE if thing.kind is Kind.RUN else installed.IN_USE
    except OSError as error:
        return f"not all of it could be removed: {error.strerror or error}"
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


def _remove_run(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name != RUN:
            _remove_tree(path)
    (folder / RUN).unlink()
    folder.rmdir()


def _remove_cache(folder: Path) -> None:
    if installed.aside(folder).exists():
        _remove_tree(installed.aside(folder))
    _remove_tree(folder.rename(installed.aside(folder)))


def _remove_tree(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


#: For each kind, whose lock it takes, and how it goes.
_WAYS: Final[Mapping[Kind, tuple[Callable[[Path], AbstractContextManager[None]], Callable[[Path], None]]]] = {
    Kind.RUN: (runs.claimed, _remove_run),
    Kind.INSTALLATION: (uses.alone, _remove_tree),
    Kind.CACHE: (lambda _: nullcontext(), _remove_cache),
}
