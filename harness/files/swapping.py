"""Build a folder beside its final place, and move it there when it is complete, replacing an earlier one.

The folder is locked while it is being built. One without a lock was left by a process that has ended, and is removed.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

from harness.files import places
from harness.files.removal import remove_tree
from harness.files.writing import unwritten

#: How often another process may put its own folder in place between the two renames.
PATIENCE: Final = 100
_SUFFIX: Final = ".building"


@contextmanager
def built(
    final: Path,
    root: Path | None = None,
    may_replace: Callable[[Path], object] = lambda _: None,
    hint: str | None = None,
) -> Iterator[Path]:
    """Yield a new folder, mode 700, which replaces ``final`` when the block ends. If the block raises, ``final`` stays.

    ``may_replace`` is called before each replacement, and raises if what is at ``final`` has to stay. Raises
    EnvironmentProblem, with ``hint``, if the folder cannot be written or the block raised OSError.
    """
    root = root or final.parent
    building = _beside(final)
    try:
        places.make_folder(final.parent, root)
        _remove_leftovers(final, root)
        places.new_folder(building, root)
        with _locked(building, root):
            yield building
            retired = _swap(building, final, root, may_replace)
    except BaseException as error:
        with suppress(OSError):
            remove_tree(building, root)
        if isinstance(error, OSError):
            raise unwritten(final, error, hint) from error
        raise
    with suppress(OSError):  # the next call removes the rest
        for each in retired:
            remove_tree(each, root)


def _swap(building: Path, final: Path, root: Path, may_replace: Callable[[Path], object]) -> list[Path]:
    """Move ``building`` to ``final``. Return the paths of the folders that were replaced."""
    retired: list[Path] = []
    with places.home(final, root) as parent:
        for _ in range(PATIENCE):
            may_replace(final)
            aside = _beside(final)
            with suppress(FileNotFoundError):
                os.rename(final.name, aside.name, src_dir_fd=parent, dst_dir_fd=parent)
                retired.append(aside)
            try:
                os.rename(building.name, final.name, src_dir_fd=parent, dst_dir_fd=parent)
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                    with suppress(OSError):
                        os.rename(aside.name, final.name, src_dir_fd=parent, dst_dir_fd=parent)
                    raise
                # Another process was faster.
            else:
                return retired
    raise OSError(errno.EBUSY, f"other processes keep replacing {final}")


def _beside(final: Path) -> Path:
    return final.with_name(f".{final.name}.{token_hex(8)}{_SUFFIX}")


@contextmanager
def _locked(path: Path, root: Path) -> Iterator[None]:
    """Hold the lock of a folder. Raises BlockingIOError if another process holds it."""
    with places.listed(path, root) as fd:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def _remove_leftovers(final: Path, root: Path) -> None:
    with places.listed(final.parent, root) as parent:
        left = [name for name in places.entries(parent) if _is_beside(name, final)]
    for name in left:
        path = final.with_name(name)
        with suppress(OSError), _locked(path, root):
            remove_tree(path, root)


def _is_beside(name: str, final: Path) -> bool:
    return name.startswith(f".{final.name}.") and name.endswith(_SUFFIX)
