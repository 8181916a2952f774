"""The cache folder. Every installation is put there as a whole, once, and under a lock.

An installation is built beside its final place and then renamed. Its manifest is written afterwards, and without one it
is not used. The lock is an ``flock``, which ends with its process, so a killed installation blocks no other.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import platformdirs

from harness.files import make_folder
from harness.model.errors import EnvironmentProblem
from harness.provision import lock_files, manifest, uses

log = logging.getLogger(__name__)


def cache_path() -> Path:
    """Return the path of the cache: ``$KAFKA_TRIAL_CACHE``, else ``kafka-trial`` in the user's cache folder."""
    chosen = os.environ.get("KAFKA_TRIAL_CACHE")
    return Path(chosen).expanduser().absolute() if chosen else platformdirs.user_cache_path("kafka-trial")


def cache_dir() -> Path:
    """Return the cache folder, created if missing. Raises EnvironmentProblem if it is not writable."""
    return writable(cache_path())


def lock_file_of(path: Path) -> Path:
    """Return the lock file of a path in the cache. It is kept, so it also marks what was installed here."""
    return path.with_name(f".{path.name}.lock")


def writable(folder: Path) -> Path:
    """Return the folder, created if missing. Raises EnvironmentProblem if it cannot be created or written."""
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
    return EnvironmentProblem(
        "cache-not-writable",
        "the cache folder {folder} cannot be written: {why}",
        hint=hint,
        folder=folder,
        why=why,
    )


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the exclusive lock of a path in the cache, after waiting while another process holds it.

    Raises EnvironmentProblem if the path cannot be locked.
    """
    writable(path.parent)
    with _told(path):
        lock = lock_files.opened(lock_file_of(path))
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.info("waiting for another kafka-trial that is installing %s", path.name)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def is_held(path: Path) -> bool:
    """Return whether a process holds the lock of a path in the cache. EnvironmentProblem: as for :func:`locked`."""
    with _told(path):
        return lock_files.is_held(lock_file_of(path))


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn an OSError on a lock into EnvironmentProblem."""
    file = lock_file_of(path)
    try:
        yield
    except OSError as error:
        raise EnvironmentProblem(
            "cache-not-lockable",
            "{file} cannot be locked: {why}",
            hint=f"rm -rf {file}",
            file=file,
            why=error.strerror,
        ) from error


def installations() -> Path:
    """Return the folder of everything installed or built: ``KIND/NAME`` below it, each with its manifest beside it."""
    return cache_path() / "installed"


def installed(kind: str, name: str, build: Callable[[Path], None], *, is_locked: bool = True) -> Path:
    """Return the folder of an installation, unchanged since it was made. ``build(folder)`` makes a missing one.

    A folder without a manifest was not finished: it is never used, and made again. If ``is_locked`` is False, each use
    logs a warning. Raises EnvironmentProblem if the folder differs from its manifest.
    """
    place = installations() / kind / name
    with suppress(OSError):  # the installing process gets the error
        make_folder(installations())
    _refuse_shared()
    uses.hold(place)
    if not is_finished(place):
        cache_dir()
        with locked(place):
            if not is_finished(place):
                _make(place, build, is_locked)
    _refuse_shared()
    if not manifest.verified(place).is_locked:
        what = name.rpartition("-")[0]
        log.warning("%s has no committed lock: only its registry's own sums say what it is", what)
    with suppress(OSError):
        os.utime(manifest.path_of(place))  # the time of the last use
    return place


def _refuse_shared() -> None:
    """Raise EnvironmentProblem if another user of this machine could replace the installed programs."""
    us = os.geteuid()
    for folder in (cache_path(), installations()):
        try:
            found = folder.stat()
        except OSError:  # nothing can run from it; an attempt to create it reports the reason
            continue
        everyone = found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX
        if everyone or (us not in (0, found.st_uid) and found.st_uid != 0):
            raise EnvironmentProblem(
                "cache-writable-by-others",
                "other users of this machine can write in {folder}, and replace what would run from there",
                hint=f"chmod go-w {folder}"
                if found.st_uid == us
                else "set KAFKA_TRIAL_CACHE to a folder of your own",
                folder=folder,
            )


def is_finished(place: Path) -> bool:
    """Return whether an installation was finished. This does not check whether it has changed since."""
    return os.path.lexists(place) and os.path.lexists(manifest.path_of(place))


def partial_of(place: Path) -> Path:
    """Return the place of an unfinished installation."""
    return place.with_name(f".{place.name}.partial")


def remove(place: Path) -> None:
    """Remove an installation, finished or not. The caller holds its lock."""
    for path in (manifest.path_of(place), place, partial_of(place)):  # without a manifest it is not used
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise EnvironmentProblem(
                "cannot-remove", "{path} cannot be removed: {why}", path=path, why=error.strerror
            ) from error


def _make(place: Path, build: Callable[[Path], None], is_locked: bool) -> None:
    remove(place)
    partial = partial_of(place)
    partial.mkdir()
    try:
        build(partial)
        made = manifest.taken(partial, is_locked=is_locked)
        partial.rename(place)
        manifest.write(place, made)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
