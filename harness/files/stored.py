"""Measure what a program has stored below a folder, in bounded time and without following links.

A client can create folders and files without end while they are counted, so the walk ends at a number of entries and at
a depth. It opens each folder relative to the one around it: no path becomes too long, and none leads elsewhere.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from harness.files import places

#: The unit of ``st_blocks``, on any file system.
BLOCK_BYTES: Final = 512


class Stored(NamedTuple):
    """The bytes on the disk, the number of files and folders, and how deep these are nested."""

    size_bytes: int
    entries: int
    depth: int


def stored(path: Path, most_entries: int, most_depth: int) -> Stored:
    """Return what is below ``path``. If there is more than ``most_entries`` or ``most_depth``, count only one more.

    A file with several names counts once. Raises OSError if ``path`` is not a folder.
    """
    walk = _Walk(most_entries, most_depth)
    with places.listed(path, path.parent) as fd:
        walk.into(fd, 1)
    return Stored(walk.size_bytes, walk.entries, walk.depth)


class _Walk:
    def __init__(self, most_entries: int, most_depth: int) -> None:
        self._most_entries, self._most_depth = most_entries, most_depth
        self.size_bytes = self.entries = self.depth = 0
        self._seen: set[tuple[int, int]] = set()

    @property
    def _is_over(self) -> bool:
        return self.entries > self._most_entries or self.depth > self._most_depth

    def into(self, fd: int, depth: int) -> None:
        with os.scandir(fd) as entries:
            for entry in entries:
                self.entries, self.depth = self.entries + 1, max(self.depth, depth)
                if self._is_over:
                    return
                with suppress(OSError):  # it has just been replaced
                    self._add(entry.stat(follow_symlinks=False))
                    if entry.is_dir(follow_symlinks=False):
                        self._into_inner(fd, entry.name, depth + 1)
                        if self._is_over:
                            return

    def _add(self, about: os.stat_result) -> None:
        if about.st_nlink > 1:
            if (about.st_dev, about.st_ino) in self._seen:
                return
            self._seen.add((about.st_dev, about.st_ino))
        self.size_bytes += about.st_blocks * BLOCK_BYTES

    def _into_inner(self, fd: int, name: str, depth: int) -> None:
        inner = places.opened(fd, name)
        try:
            self.into(inner, depth)
        finally:
            os.close(inner)
