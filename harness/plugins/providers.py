"""Providers: parts that are found without one entry point per part.

An entry point of the group ``kafka_trial.providers`` has the name of another group (``faults``, ``checks``) and refers
to a :class:`Provider`, which lists the names that it adds to that group. The built-in parts are found in this way, so a
new built-in part is a new file. A third party may register each of its parts with an entry point, or use a provider
too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pkgutil import iter_modules, walk_packages
from types import ModuleType
from typing import Any, Protocol


class Provider(Protocol):
    """Parts of one group, by name. Its exceptions are reported with the distribution that registered it."""

    def names(self) -> Iterable[str]:
        """Return all names. Often called when no part is needed, so it should import as little as possible."""

    def load(self, name: str) -> Any:
        """Return the part with one of these names."""


@dataclass(frozen=True)
class OneFileEach:
    """Each part is a file (or folder) of ``package``: the file name is its name, ``attribute`` of the module the part.

    Listing the names imports none of the files. Files that are not parts belong in another package.
    """

    package: str
    attribute: str

    def names(self) -> list[str]:
        """Return the names of the files."""
        return [each.name for each in iter_modules(import_module(self.package).__path__)]

    def load(self, name: str) -> Any:
        """Return the part that the file defines."""
        return getattr(import_module(f"{self.package}.{name}"), self.attribute)


class Collected:
    """Parts that have a ``name``: each object of ``kind`` with a public name in a module below ``package``.

    Objects whose name begins with an underscore are not found, nor are those that a module keeps in a list or makes in
    a function. One object may have several public names, for example where a module imports it. Listing the names
    imports all modules.
    """

    def __init__(self, package: str, kind: type[Any]) -> None:
        self._package = package
        self._kind = kind

    def names(self) -> list[str]:
        """Return the names of the objects."""
        return list(self._found)

    def load(self, name: str) -> Any:
        """Return the object with that name."""
        return self._found[name]

    @cached_property
    def _found(self) -> dict[str, Any]:
        found: dict[str, tuple[Any, str]] = {}
        for module in _modules(self._package):
            for word, part in vars(module).items():
                if word.startswith("_") or not isinstance(part, self._kind):
                    continue
                place = f"{module.__name__}:{word}"
                known, at = found.setdefault(part.name, (part, place))
                if known is not part:
                    raise ValueError(f"{part.name!r} is both {at} and {place}")
        return {name: part for name, (part, _) in found.items()}


def _modules(package: str) -> Iterator[ModuleType]:
    root = import_module(package)
    yield root
    for each in walk_packages(root.__path__, f"{package}."):
        yield import_module(each.name)
