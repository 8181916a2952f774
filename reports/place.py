"""The place of a report: it is built beside its final place and then swapped in.

A report only replaces an earlier report or an empty folder. A manifest in it lists its files. A folder that contains
anything else, or a run, is refused, so that a mistyped ``--out`` deletes nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from harness import files
from harness.limits.memory import PLAN_BYTES, Crowded, Room
from harness.model.errors import UsageError
from harness.model.run_files import RUN
from harness.storage.run_store import RunStore

MANIFEST = ".kafka-trial-report"
OWN = "report"
_HINT = "name a new or empty folder with --out"


@dataclass(frozen=True)
class Place:
    """A report under construction in ``building``, which becomes ``final``."""

    final: Path
    building: Path

    def write(self, path: str, data: bytes) -> Path:
        """Write one file of the report and return its final path. Raises OSError."""
        with files.create(self.building / path) as file:
            file.write(data)
        return self.final / path

    def folder(self, name: str) -> None:
        """Create a folder of the report. Raises OSError."""
        files.make_folder(self.building / name, self.building)


@contextmanager
def report_place(store: RunStore, out: Path | None = None) -> Iterator[Place]:
    """Yield the place of a report of ``store``: ``out``, or the run's own. It is replaced if the block does not raise.

    Raises UsageError if there is a run, or anything else that is not a report, and EnvironmentProblem if the place
    cannot be written.
    """
    final = _final(store, out)
    _must_be_free(final)
    with files.built(final, may_replace=_must_be_free, hint="name a writable folder with --out") as building:
        place = Place(final, building)
        yield place
        place.write(MANIFEST, msgspec.json.encode(sorted(_found(building))))


def _final(store: RunStore, out: Path | None) -> Path:
    run = Path(os.path.realpath(store.folder))
    at = (out or run / OWN).absolute()
    # A link as the last component is refused, not followed.
    final = Path(os.path.realpath(at)) if at.name == ".." else Path(os.path.realpath(at.parent)) / at.name
    if run.is_relative_to(final):
        raise UsageError(
            "report-contains-run", "{path} is or contains the run {run}", hint=_HINT, path=final, run=run
        )
    for parent in final.parents:
        if final != run / OWN and (parent / RUN).exists():
            raise UsageError(
                "report-inside-run",
                "{path} is inside the run {parent}",
                hint=_HINT,
                path=final,
                parent=parent,
            )
    return final


def _must_be_free(final: Path) -> None:
    """Raise UsageError unless ``final`` is missing, empty, or a report without additional files."""
    try:
        if not files.present(final):
            return
        if not stat.S_ISDIR(mode := final.lstat().st_mode):
            raise UsageError(
                "report-not-a-folder",
                "{path} is {kind}, not the folder of a report",
                hint=_HINT,
                path=final,
                kind=files.kind_of(mode),
            )
        if files.present(final / RUN):
            raise UsageError("report-is-run", "{path} is a run", hint=_HINT, path=final)
        found = _found(final)
        if (first := next(found, None)) is None:
            return
        ours = _manifest(final)
        if ours is None:
            raise UsageError(
                "report-folder-not-empty",
                "{path} is not empty, and not a report of kafka-trial",
                hint=_HINT,
                path=final,
            )
        for name in (first, *found):
            if name not in ours:
                raise UsageError(
                    "report-foreign-file",
                    "{path} has {name!r}, which is not part of the report there",
                    hint=_HINT,
                    path=final,
                    name=name,
                )
    except OSError as error:
        raise UsageError(
            "report-place-unusable",
            "{path} cannot be a report: {why}",
            hint=_HINT,
            path=final,
            why=error.strerror or error,
        ) from error


def _manifest(folder: Path) -> frozenset[str] | None:
    """Return the files of an earlier report, or None for any other folder."""
    try:
        data = files.read_stored(folder / MANIFEST)
        Room(PLAN_BYTES).take(data)
        listed = msgspec.json.decode(data, type=frozenset[str])
    except (Crowded, OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return listed | {MANIFEST}


def _found(folder: Path) -> Iterator[str]:
    """Yield the relative path of everything below ``folder`` that is not a folder. Links are not followed."""
    left = [folder]
    while left:
        with os.scandir(left.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    left.append(Path(entry.path))
                else:
                    yield str(Path(entry.path).relative_to(folder))
