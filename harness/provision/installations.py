"""All installations in the cache, with the state of each: unchanged, damaged, or unfinished."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.model.errors import EnvironmentProblem
from harness.provision import manifest
from harness.provision.caches import installations, is_finished, is_held, locked, remove

_REF = re.compile(r"(?P<client>.+)@(?P<version>[^@]+)-[0-9a-f]{12}")
_PARTIAL = re.compile(r"\.(.+)\.partial")


@dataclass(frozen=True)
class Installation:
    """One folder below ``installed/KIND``. ``damage`` is None if it is unchanged.

    ``is_locked`` is as in :class:`harness.provision.manifest.Manifest`.
    """

    kind: str
    name: str
    damage: str | None
    is_locked: bool = True

    @property
    def place(self) -> Path:
        """The folder of the installation."""
        return installations() / self.kind / self.name

    @property
    def client(self) -> tuple[str, str] | None:
        """The client and the version in its name, if there are any."""
        found = _REF.fullmatch(self.name)
        return (found["client"], found["version"]) if found else None

    def remove(self) -> None:
        """Remove it, once no other process is making it. Raises EnvironmentProblem if that fails."""
        with locked(self.place):
            remove(self.place)


def survey() -> Iterator[Installation]:
    """Yield every installation after reading all of its files, except those that are being made at the moment."""
    for kind in sorted(path for path in installations().glob("*") if path.is_dir()):
        for name in sorted(_names(kind)):
            place = kind / name
            if is_finished(place) or not is_held(place):
                yield _look(place)


def _names(kind: Path) -> set[str]:
    """Return the names of finished and unfinished installations."""
    there = list(kind.iterdir())
    begun = (_PARTIAL.fullmatch(path.name) for path in there)
    finished = (path for path in there if path.is_dir() or path.is_symlink())
    return {path.name for path in finished if not path.name.startswith(".")} | {
        one[1] for one in begun if one
    }


def _look(place: Path) -> Installation:
    kind, name = place.parent.name, place.name
    if not is_finished(place):
        return Installation(kind, name, "it was begun, and never finished")
    try:
        written = manifest.read(place)
    except EnvironmentProblem as problem:
        return Installation(kind, name, str(problem))
    wrong = manifest.differences(place, written, every_byte=True)
    return Installation(kind, name, manifest.summary(wrong) if wrong else None, written.is_locked)
