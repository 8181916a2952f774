"""The contents of the cache: installations, each with its lock beside it, and the tools' caches that all builds share.

An installation is in use while a kafka-trial holds it (:mod:`harness.provision.uses`), or while any process runs from
it, no matter who started it. A cache is in use while something is being installed.
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

#: Folders of the cache where older versions of the project put their installations.
OLDER: Final = ("ecj", "go/programs", "java", "kafka", "node", "python", "rust", "toxiproxy")
#: Folders whose content is made or fetched again when it is needed.
CACHES: Final = ("class-data", "go/build", "go/modules", "go/path", "npm")
#: The present folder of installations, which contains one folder per kind, and the suffix of their manifests.
INSTALLED, MANIFEST = "installed", ".manifest"
IN_USE = "a running process uses it"
INSTALLING = "something is being installed"


def found(cache: Path) -> list[Found]:
    """Return installations, other items among them, and caches. Those in use are marked to stay."""
    cache = Path(os.path.realpath(cache))  # resolves a link to the cache; links in the cache are not followed
    kinds = [*OLDER, *(f"{INSTALLED}/{path.name}" for path in _inside(cache, INSTALLED))]
    there = (_found(path) for kind in kinds for path in _inside(cache, kind))
    things = [each for each in there if each is not None]
    installing = INSTALLING if any(_is_installing(cache / kind) for kind in kinds) else ""
    things += [Found(Kind.CACHE, path, path.stat().st_mtime, installing) for path in _caches(cache)]
    users = users_of(thing.path for thing in things if thing.kind is not Kind.STRANGER)
    return [_unless_used(thing, users) for thing in things]


def users_of(paths: Iterable[Path]) -> Mapping[Path, int]:
    """Return those of ``paths`` that a process runs from, in or with: folder -> the id of one such process."""
    wanted = {path: (str(path), f"{path}{os.sep}") for path in paths}
    users: dict[Path, int] = {}
    for process in psutil.process_iter():
        told = _told(process)
        for path, (itself, below) in wanted.items():
            if any(text == itself or below in text for text in told):
                users.setdefault(path, process.pid)
    return users


def _told(process: psutil.Process) -> list[str]:
    """Return all paths that a process exposes: its program, its working folder, its arguments."""
    told: list[str] = []
    for ask in (process.exe, process.cwd):
        with suppress(psutil.Error, OSError):
            told.append(ask())
    with suppress(psutil.Error, OSError):
        told += process.cmdline()
    return told


def _inside(cache: Path, kind: str) -> Iterator[Path]:
    """Yield the entries of a cache folder, without hidden files and manifests. A linked folder yields nothing."""
    folder = cache / kind
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        if folder.resolve() == folder:
            yield from sorted(path for path in folder.iterdir() if not _is_aside(path))


def _is_aside(path: Path) -> bool:
    return path.name.startswith(".") or (path.name.endswith(MANIFEST) and path.is_file())


def _found(path: Path) -> Found | None:
    """Return what is at ``path``, or None if it was removed meanwhile."""
    try:
        return _known(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Found(Kind.STRANGER, path, 0, f"it cannot be read: {error.strerror or error}")


def _known(path: Path) -> Found:
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        what = "a link" if stat.S_ISLNK(status.st_mode) else "not a folder"
        return Found(Kind.STRANGER, path, status.st_mtime, f"it is {what}")
    if not lock_file_of(path).is_file():
        return Found(Kind.STRANGER, path, status.st_mtime, "kafka-trial did not install it: it has no lock")
    return Found(Kind.INSTALLATION, path, uses.last_used_s(path), IN_USE if uses.is_used(path) else "")


def _is_installing(folder: Path) -> bool:
    """Return True if a process holds the lock of an installation, whose build may read any cache."""
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
    """Return the path to which a cache is moved for its removal, so that other processes start a new one."""
    return cache.with_name(f".{cache.name}.removed")


def _unless_used(thing: Found, users: Mapping[Path, int]) -> Found:
    if thing.stays or thing.path not in users:
        return thing
    return replace(thing, stays=f"process {users[thing.path]} runs from it")
