"""The rules by which a check forgives, each with a name: a function that grants one says so with ``grants``.

Each has a perturbation that shows where it ends (``suites.perturbations.limits``). A name that is granted and has none
fails the tests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Final, TypeVar

Granting = TypeVar("Granting", bound=Callable[..., object])

#: Excuse -> the functions that grant it; complete as soon as the modules of the checks are imported.
GRANTED: Final[defaultdict[str, set[str]]] = defaultdict(set)


def grants(*excuses: str) -> Callable[[Granting], Granting]:
    """Names the excuses that a function grants."""

    def register(function: Granting) -> Granting:
        for excuse in excuses:
            GRANTED[excuse].add(f"{function.__module__}.{function.__qualname__}")
        return function

    return register
