"""What the cache holds: installations, each with its lock beside it, and the caches of tools that all builds share.

An installation is in use while a kafka-trial holds it (:mod:`harness.provision.uses`), or while a process runs from it,
started by anyone. A cache is in use while something is being installed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

import psutil

from harness.housekeeping.plan import Found, Kind
from harness.provision import lock_files, uses
from harness.provision.caches import lock_file_of

#: Folders of the cache in which older versions have their installations.
OLDER: Final = ("ecj", "go/programs", "java", "kafka", "node", "python", "rust", "toxiproxy")
#: What is made anew, or fetched anew, when it is wanted.
CACHES: Final = ("class-data", "go/build", "go/modules", "go/path", "npm")
#: Where they are now, by kind, each with a manifest beside it.
INSTALLED, MANIFEST = "installed", ".manifest"
IN_USE = "a running process uses it"
INSTALLING = "something is being installed"


def found(cache: Path) -> list[Found]:
    """Installations, what lies among them without being one, and caches; those that are in use stay."""
    cache = Path(os.path.realpath(cache))  # the cache itself may be a link of the user's, nothing in it
    kinds = [*OLDER, *(f"{INSTALLED}/{path.name}" for path in _inside(cache, INSTALLED))]
    there = (_found(path) for kind in kinds for path in _inside(cache, kind))
    things = [each for each in there if each is not None]
    installing = INSTALLING if any(_is_installing(cache / kind) for kind in kinds) else ""
    things += [Found(Kind.CACHE, path, path.stat().st_mtime, installing) for path in _caches(cache)]
    users = users_of(thing.path for thing in things if thing.kind is not Kind.STRANGER)
    return [_unless_used(thing, users) for thing in things]


def users_of(paths: Iterable[Path]) -> Mapping[Path, int]:
    """Which of these folders a process runs from, in or with: the folder -> one such process."""
    wanted = {path: (str(path), f"{path}{os.sep}") for path in paths}
    users: dict[Path, int] = {}
    for process in psutil.process_iter():
        told = _told(process)
        for path, (itself, below) in wanted.items():
            if any(text == itself or below in text for text in told):
                users.setdefault(path, process.pid)
    return users


def _told(process: psutil.Process) -> list[str]:
    """All paths that a process tells: its program, its folder, its arguments."""
    told: list[str] = []
    for ask in (process.exe, process.cwd):
        with suppress(psutil.Error, OSError):
            told.append(ask())
    with suppress(psutil.Error, OSError):
        told += process.cmdline()
    return told


def _inside(cache: Path, kind: str) -> Iterator[Path]:
    """What lies in a folder of the cache but hidden files and manifests; nothing where a link leads there."""
    folder = cache / kind
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        if folder.resolve() == folder:
            yield from sorted(path for path in folder.iterdir() if not _is_aside(path))


def _is_aside(path: Path) -> bool:
    return path.name.startswith(".") or (path.name.endswith(MANIFEST) and path.is_file())


def _found(path: Path) -> Found | None:
    """What is there; None if it went meanwhile."""
    try:
        return _known(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Found(Kind.STRANGER, path, 0, f"it cannot be read: {error.strerror or error}")


def _known(path: Path) -> Found:
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        what = "a link" if stat.S_ISLNK(status.st_mode) else "no folder"
        return Found(Kind.STRANGER, path, status.st_mtime, f"it is {what}")
    if not lock_file_of(path).is_file():
        return Found(Kind.STRANGER, path, status.st_mtime, "we have not installed it: it has no lock")
    return Found(Kind.INSTALLATION, path, uses.last_used_s(path), IN_USE if uses.is_used(path) else "")


def _is_installing(folder: Path) -> bool:
    """True if somebody holds the lock of an installation: what it builds may read any cache."""
    for path in folder.glob(".*.lock"):
        with suppress(OSError):
            if lock_files.is_held(path):
                return True
    return False


def _caches(cache: Path) -> Iterator[Path]:
    for name in CACHES:
        for path in (cache / name, aside(cache / name)):
            if path.is_dir() and path.resolve() == path:
                yield path


def aside(cache: Path) -> Path:
    """Where a cache is while it is removed, so that a process that needs it in the meantime begins a new one."""
    return cache.with_name(f".{cache.name}.removed")


def _unless_used(thing: Found, users: Mapping[Path, int]) -> Found:
    if thing.stays or thing.path not in users:
        return thing
    return replace(thing, stays=f"process {users[thing.path]} runs from it")
