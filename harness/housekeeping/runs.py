"""The runs in a folder of runs.

A folder is a run if it contains a ``run.json``. The process that executes a run holds the lock of its folder.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from harness import files
from harness.housekeeping.plan import Found, Kind
from harness.model.errors import UsageError
from harness.model.path_names import folder_name
from harness.model.run_files import LATEST, RUN

#: The maximum length of the pointer file: a run's name with its line break.
LONGEST = 256
IN_USE = "another process is working on it"


class _Mark(msgspec.Struct):
    """The fields that ``run.json`` has in every version."""

    run_id: str
    started_utc: str
    schema_version: int


def found(folder: Path) -> list[Found]:
    """Return the items in a folder of runs by name, without hidden files and the pointer to the latest run.

    Raises UsageError if it is not a folder, cannot be read, or is a run itself.
    """
    if (folder / RUN).exists():
        raise UsageError(
            "run-not-runs-folder", "{path} is a run", hint="name the folder that it is in", path=folder
        )
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if not _is_aside(entry))
    except OSError as error:
        raise UsageError(
            "cannot-read",
            "cannot read the folder of runs {path}: {why}",
            path=folder,
            why=error.strerror or error,
        ) from None
    return [each for name in names if (each := _found(folder / name)) is not None]


@contextmanager
def claimed(run: Path) -> Iterator[int]:
    """Lock a run's folder, so that no other process can execute the run, and yield its descriptor.

    Raises BlockingIOError if the run is being executed, and OSError if it is not a folder.
    """
    folder = os.open(run, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        os.close(folder)


def mend_latest(folder: Path) -> None:
    """Point to the newest run if the run that the pointer names is gone. Without any run, remove the pointer.

    Raises EnvironmentProblem if it cannot be written.
    """
    latest = folder / LATEST
    if os.path.lexists(folder / _pointed_at(latest)):
        return
    runs = [each.path.name for each in found(folder) if each.kind is Kind.RUN]
    if runs:
        files.write_whole(latest, f"{max(runs)}\n".encode(), folder)
    else:
        latest.unlink(missing_ok=True)


def _is_aside(entry: os.DirEntry[str]) -> bool:
    hidden = entry.name.startswith(".") or entry.name == LATEST
    return hidden and entry.is_file(follow_symlinks=False)


def _found(path: Path) -> Found | None:
    """Return what is at ``path``, or None if it was removed meanwhile."""
    try:
        status = path.lstat()
        why = _stranger(path, status)
        if why:
            return Found(Kind.STRANGER, path, status.st_mtime, why)
        return Found(Kind.RUN, path, max(status.st_mtime, (path / RUN).lstat().st_mtime))
    except FileNotFoundError:
        return None
    except OSError as error:
        return Found(Kind.STRANGER, path, 0, f"it cannot be read: {error.strerror or error}")


def _stranger(path: Path, status: os.stat_result) -> str:
    """Return why it is not a run of this project, or "" if it is."""
    if not stat.S_ISDIR(status.st_mode):
        return "it is a link" if stat.S_ISLNK(status.st_mode) else "it is not a folder"
    try:
        folder_name(path.name, "run")
    except UsageError:
        return "its name is not that of a run"
    try:
        msgspec.json.decode(files.read_stored(path / RUN, path), type=_Mark)
    except FileNotFoundError:
        return f"it has no {RUN}"
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return f"its {RUN} was not written by kafka-trial"
    return ""


def _pointed_at(latest: Path) -> str:
    """Return the name in the pointer, or the pointer's own name if it is invalid, so that it is left unchanged."""
    try:
        return folder_name(
            files.read_stored(latest, latest.parent, LONGEST).decode(errors="replace").strip(), "run"
        )
    except (UsageError, OSError):
        return latest.name
