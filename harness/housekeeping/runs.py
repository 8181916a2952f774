"""The runs in a folder of runs.

The mark of a run is its ``run.json``. The process that carries a run out holds the lock of its folder.
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

#: A pointer's name with its line break.
LONGEST = 256
IN_USE = "another process is working on it"


class _Mark(msgspec.Struct):
    """What every ``run.json`` of ours has, of any version."""

    run_id: str
    started_utc: str
    schema_version: int


def found(folder: Path) -> list[Found]:
    """What is in a folder of runs, by name; the pointer to the latest run and hidden files aside.

    UsageError: it is no folder, cannot be read, or is a run itself.
    """
    if (folder / RUN).exists():
        raise UsageError(f"{folder} is a run", hint="name the folder that it is in")
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if not _is_aside(entry))
    except OSError as error:
        raise UsageError(f"cannot read the folder of runs {folder}: {error.strerror or error}") from None
    return [each for name in names if (each := _found(folder / name)) is not None]


@contextmanager
def claimed(run: Path) -> Iterator[int]:
    """A run's folder as a descriptor, which keeps everybody else from carrying the run out.

    BlockingIOError: somebody does; OSError: it is no folder.
    """
    folder = os.open(run, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield folder
    finally:
        os.close(folder)


def mend_latest(folder: Path) -> None:
    """Have the pointer lead to the newest run where its own is gone; without any run there is none.

    EnvironmentProblem: it cannot be written.
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
    """What is there; None if it went meanwhile."""
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
    """Why it is no run of ours; empty if it is."""
    if not stat.S_ISDIR(status.st_mode):
        return "it is a link" if stat.S_ISLNK(status.st_mode) else "it is no folder"
    try:
        folder_name(path.name, "run")
    except UsageError:
        return "no run of ours has such a name"
    try:
        msgspec.json.decode(files.read_stored(path / RUN, path), type=_Mark)
    except FileNotFoundError:
        return f"it has no {RUN}"
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return f"its {RUN} is none of ours"
    return ""


def _pointed_at(latest: Path) -> str:
    """The name that the pointer holds; its own where it holds none, or is no file of ours: it is left as it is then."""
    try:
        return folder_name(
            files.read_stored(latest, latest.parent, LONGEST).decode(errors="replace").strip(), "run"
        )
    except (UsageError, OSError):
        return latest.name
