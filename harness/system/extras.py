"""The optional dependencies: what each extra is for, and one sentence if it is missing or cannot be used.

The packages of an extra are those that the installed distribution's metadata lists, so pyproject.toml determines them.
A module that needs them imports them within :func:`needed`. Commands do so when they run, so that ``--help`` lists
them in any case.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from types import MappingProxyType

from packaging.requirements import Requirement
from packaging.version import InvalidVersion, Version

from harness.model.errors import EnvironmentProblem

DISTRIBUTION = "kafka-trial"

#: Extra -> what it is for.
EXTRAS: Mapping[str, str] = MappingProxyType(
    {
        "capture": "Kafka's frames in scapy (harness.capture.layers); run --capture works without it",
        "properties": "kafka-trial mutants, and the properties of the reference client (suites.properties)",
        "report": "kafka-trial report",
    }
)


@dataclass(frozen=True)
class Problem:
    """Why an extra cannot be used, and the command that installs it."""

    why: str
    command: str
    is_missing: bool = False


@contextmanager
def needed(extra: str, by: str) -> Iterator[None]:
    """Import what needs ``extra`` in this block, and do nothing else in it. ``by`` is the user's word for it.

    Raises EnvironmentProblem, with the command that installs the extra, if it is missing or cannot be imported.
    """
    problem = problem_of(extra)
    if problem is None:
        try:
            yield
        except EnvironmentProblem:
            raise
        except Exception as error:  # a damaged package can raise anything
            problem = _not_importable(extra, error)
        else:
            return
    raise EnvironmentProblem(
        "extra-not-usable",
        "{by} needs the extra {extra!r} ({why}): {command}",
        hint="kafka-trial doctor shows the extras",
        by=by,
        extra=extra,
        why=problem.why,
        command=problem.command,
    )


def problem_of(extra: str) -> Problem | None:
    """Return why an extra cannot be used, or None if all of its packages can be imported."""
    packages = requirements(extra)
    found = {each.name: _installed(each.name) for each in packages}
    install = shlex.join(["pip", "install", f"{DISTRIBUTION}[{extra}]"])
    if missing := [name for name, there in found.items() if there is None]:
        return Problem(f"not installed: {', '.join(missing)}", install, is_missing=True)
    for each in packages:
        there = found[each.name]
        if there and not each.specifier.contains(there, prereleases=True):
            return Problem(f"{each.name} is {there}, not {each.specifier}", install)
    try:
        for each in packages:
            import_module(each.name)
    except Exception as error:
        return _not_importable(extra, error)
    return None


def requirements(extra: str) -> list[Requirement]:
    """Return the packages that an extra adds, sorted. Each is imported under its own name."""
    declared = map(Requirement, requires(DISTRIBUTION) or ())
    return sorted((each for each in declared if _is_of(extra, each)), key=lambda each: each.name)


def _is_of(extra: str, package: Requirement) -> bool:
    marker = package.marker
    return bool(marker and marker.evaluate({"extra": extra}) and not marker.evaluate({"extra": ""}))


def _not_importable(extra: str, error: Exception) -> Problem:
    said = (str(error).splitlines() or ["it said nothing"])[0]
    packages = [f"{each.name}{each.specifier}" for each in requirements(extra)]
    return Problem(
        f"it cannot be imported: {type(error).__name__}: {said}",
        shlex.join(["pip", "install", "--force-reinstall", *packages]),
    )


def _installed(name: str) -> Version | None:
    """Return the version of an installed distribution, or None if there is none or its metadata are damaged."""
    with suppress(PackageNotFoundError, InvalidVersion, TypeError):
        return Version(version(name))
    return None
