"""The names of the excuses that checks accept. A function that accepts one declares it with ``grants``.

Each excuse needs a perturbation in ``suites.perturbations.limits`` that shows where it ends. The tests fail
if a granted name has none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Final, TypeVar

Granting = TypeVar("Granting", bound=Callable[..., object])

#: Maps an excuse to the functions that grant it. It is complete once the modules of the checks are imported.
GRANTED: Final[defaultdict[str, set[str]]] = defaultdict(set)


def grants(*excuses: str) -> Callable[[Granting], Granting]:
    """Declare the excuses that a function grants."""

    def register(function: Granting) -> Granting:
        for excuse in excuses:
            GRANTED[excuse].add(f"{function.__module__}.{function.__qualname__}")
        return function

    return register
