"""The project's own packages, and whether Python finds them or other packages with the same names.

In the wheel all of them are below ``kafka_trial`` (``scripts/wheel_build.py``). In the repository and its editable
install they are at the top, where a user's package ``clients`` or ``reports`` can hide one of them.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

import harness
from harness.model.errors import EnvironmentProblem

NAMES: Final = ("harness", "clients", "faults", "suites", "reports")
#: The beginning of their full names: empty in the repository, ``kafka_trial.`` in the wheel.
PREFIX: Final = harness.__name__.removesuffix("harness")
_FOLDER: Final = Path(*harness.__path__).parent


def check() -> None:
    """Raise EnvironmentProblem if Python finds another package in the place of one of our packages."""
    for name in NAMES:
        spec = find_spec(f"{PREFIX}{name}")
        if spec is None or spec.origin is None:
            continue  # damaged: the import reports what is missing
        found = Path(spec.origin)
        if found.resolve() != (_FOLDER / name / "__init__.py").resolve():
            raise EnvironmentProblem(
                "package-hidden",
                "the package {name} of kafka-trial is hidden by {path}",
                hint="install the wheel of kafka-trial, which has no package of that name; an editable install has it",
                name=name,
                path=found,
            )
