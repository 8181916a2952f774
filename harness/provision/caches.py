"""The cache folder, and the one way anything comes into it: whole, once, under a lock.

An installation is built beside its place and renamed into it, so what stands in its place is always complete.
The lock is an ``flock``: it ends with its process, so a killed installation blocks nobody.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from harness.errors import EnvironmentProblem
from harness.provision import uses

log = logging.getLogger(__name__)


def cache_path() -> Path:
    """Where the cache is, or will be: ``$KAFKA_TRIAL_CACHE``, else ``kafka-trial`` in the user's cache folder."""
    chosen = os.environ.get("KAFKA_TRIAL_CACHE")
    return Path(chosen).expanduser().absolute() if chosen else platformdirs.user_cache_path("kafka-trial")


def cache_dir() -> Path:
    """The cache folder, made where it was missing. EnvironmentProblem: it cannot be written."""
    return writable(cache_path())


def lock_of(path: Path) -> Path:
    """The lock that belongs to a path in the cache. It stays, so where one is, we have installed something."""
    return path.with_name(f".{path.name}.lock")


def writable(folder: Path) -> Path:
    """The folder, made where it was missing. EnvironmentProblem: it cannot be made or written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        may_write = os.access(folder, os.W_OK | os.X_OK)
    except OSError as error:
        raise _not_writable(folder, error.strerror or str(error)) from error
    if not may_write:
        raise _not_writable(folder, "permission denied")
    return folder


def _not_writable(folder: Path, why: str) -> EnvironmentProblem:
    hint = "set KAFKA_TRIAL_CACHE to a folder that you may write"
    return EnvironmentProblem(f"the cache folder {folder} cannot be written: {why}", hint=hint)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the exclusive lock that belongs to a path in the cache, waiting for whoever holds it now."""
    writable(path.parent)
    with lock_of(path).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.info("waiting for another kafka-trial that is installing %s", path.name)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def installed(
    place: Path, build: Callable[[Path], None], *, whole: Callable[[Path], bool] = Path.exists
) -> Path:
    """What stands at ``place``; where it is not ``whole``, ``build(folder)`` makes it in an empty folder first."""
    uses.hold(place)
    if whole(place):
        return place
    with locked(place):
        if whole(place):
            return place
        partial = place.with_name(f".{place.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)  # left by an installation that was killed
        partial.mkdir()
        try:
            build(partial)
            if place.exists():
                shutil.rmtree(place)
            partial.rename(place)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return place
