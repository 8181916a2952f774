"""``runs/latest``: a file with the name of the newest run, which stands for that run's folder in every path."""

from __future__ import annotations

from pathlib import Path

from harness import files
from harness.model.errors import UsageError
from harness.model.path_names import folder_name
from harness.model.run_files import LATEST, RUN

_NAME_BYTES = 1_024


def newest(runs: Path) -> Path:
    """Return the folder of the newest run in ``runs``, which has a file LATEST. Raise UsageError if it is missing."""
    name = files.read_stored(runs / LATEST, most_bytes=_NAME_BYTES).decode(errors="replace")
    run = runs / folder_name(name.strip(), "run")
    # The user named the folder of runs, but not what a link in it points to.
    if not files.present(run / RUN, runs):
        raise UsageError(
            "latest-run-missing",
            "{latest} names {name}, and there is no such run",
            latest=runs / LATEST,
            name=run.name,
        )
    return run


def resolved(path: Path) -> Path:
    """Return ``path`` with the newest run's folder in the place of ``latest``, such as in ``runs/latest/trials/x``."""
    for at, part in enumerate(path.parts):
        pointer = Path(*path.parts[: at + 1])
        if part == LATEST and pointer.is_file() and not pointer.is_symlink():
            return newest(pointer.parent).joinpath(*path.parts[at + 1 :])
    return path
