"""Hypothesis in all tests: no deadlines, for a busy machine is no defect; what is slow shows in ``--durations``.

How much is tried is the profile's: ``--hypothesis-profile=quick`` for the fast tier, ``thorough`` for a night. Of two
processes (``-n 2 --dist loadgroup``) one has all tests with a JVM, which mostly wait, and the other has the rest.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

_ANY_MACHINE: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("quick", max_examples=10, **_ANY_MACHINE)
settings.register_profile("usual", max_examples=60, **_ANY_MACHINE)
settings.register_profile("thorough", max_examples=2_000, **_ANY_MACHINE)
settings.load_profile("usual")


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Clusters would only be in each other's way."""
    for item in items:
        if item.get_closest_marker("jvm"):
            item.add_marker(pytest.mark.xdist_group("jvm"))
