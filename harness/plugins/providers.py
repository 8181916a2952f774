"""Providers: where parts are found that no entry point names one by one.

An entry point of the group ``kafka_trial.providers`` has the name of another group (``faults``, ``checks``), and leads
to a :class:`Provider`, which tells the names that it adds to that group. The built-in parts are found so, and a new one
is a new file; a third party may name each of its parts by an entry point of its own, or have a provider too.
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
    """Parts of one group, by name. What it raises is told together with the distribution that registered it."""

    def names(self) -> Iterable[str]:
        """All names. They are often asked for where no part is needed: as little is loaded as can be."""

    def load(self, name: str) -> Any:
        """The part of one of these names."""


@dataclass(frozen=True)
class OneFileEach:
    """A part is a file (or folder) of ``package``: its name is the file's, and the module's ``attribute`` is the part.

    To tell the names imports none of the files. What does not belong to it is in another package.
    """

    package: str
    attribute: str

    def names(self) -> list[str]:
        """The names of the files."""
        return [each.name for each in iter_modules(import_module(self.package).__path__)]

    def load(self, name: str) -> Any:
        """What the file has."""
        return getattr(import_module(f"{self.package}.{name}"), self.attribute)


class Collected:
    """Parts that carry a ``name``: each object of ``kind`` to which a module below ``package`` gives a public name.

    What begins with an underscore is not found, nor is what a module keeps in a list or makes in a function. One object
    may have several public names, as where a module imports it. To tell the names imports all modules.
    """

    def __init__(self, package: str, kind: type[Any]) -> None:
        self._package = package
        self._kind = kind

    def names(self) -> list[str]:
        """The names that the objects carry."""
        return list(self._found)

    def load(self, name: str) -> Any:
        """The object of that name."""
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
