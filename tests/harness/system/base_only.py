"""Run in an environment without extras and development tools, whose modules cannot be imported.

``python base_only.py modules`` imports every module and prints those that cannot be imported, with the missing
package. Any other arguments are those of ``kafka-trial``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PACKAGES = ("harness", "clients", "faults", "suites", "reports")
#: Programs that run in the environment of their client.
PROGRAMS = "clients.adapters."


class Blocked:
    """A finder that refuses the modules of every distribution that the base does not require."""

    def __init__(self) -> None:
        base = closure("kafka-trial", set())
        owners = packages_distributions().items()
        self._refused = {
            name for name, owned_by in owners if not base & {canonicalize_name(each) for each in owned_by}
        }

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Refuse the module, or leave it to the next finder."""
        if name.partition(".")[0] in self._refused:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def closure(name: str, extras: set[str]) -> set[str]:
    """Return a distribution and all its dependencies."""
    found = {canonicalize_name(name)}
    try:
        declared = [Requirement(each) for each in requires(name) or ()]
    except PackageNotFoundError:  # a dependency for another system or Python
        return set()
    for each in declared:
        if each.marker is None or any(each.marker.evaluate({"extra": one}) for one in extras | {""}):
            found |= closure(each.name, each.extras)
    return found


def lacking() -> Iterator[str]:
    """Yield each module that cannot be imported, with the reason."""
    for package in PACKAGES:
        root = Path(import_module(package).__path__[0])
        for file in sorted(root.rglob("*.py")):
            name = ".".join((package, *file.relative_to(root).with_suffix("").parts)).removesuffix(
                ".__init__"
            )
            if file.stem == "__main__" or (name.startswith(PROGRAMS) and file.stem != "__init__"):
                continue
            try:
                import_module(name)
            except Exception as error:
                yield f"{name}: {error}"


if __name__ == "__main__":
    from harness.cli import start

    sys.meta_path.insert(0, Blocked())
    if sys.argv[1:] == ["modules"]:
        print(*lacking(), sep="\n")  # noqa: T201
    else:
        start.main()
